//! Waits for calls of the library OpenDAL, and converts their errors.

use std::future::Future;

use opendal::ErrorKind as OpendalErrorKind;
use tokio::runtime::Runtime;

use crate::target::waiting;
use crate::{Error, ErrorKind, Result};

/// Waits for one asynchronous call of OpenDAL, and converts its error.
pub(super) fn wait<T>(
    runtime: &Runtime,
    (operation, path): (&'static str, &str),
    call: impl Future<Output = opendal::Result<T>>,
) -> Result<T> {
    let convert = |error| converted(operation, path, &error);
    waiting::wait(runtime, (operation, path), call, convert)
}

/// Converts an error of OpenDAL to an error with this operation and path.
fn converted(operation: &'static str, path: &str, error: &opendal::Error) -> Error {
    let kind = match error.kind() {
        OpendalErrorKind::NotFound => ErrorKind::NotFound,
        OpendalErrorKind::PermissionDenied => ErrorKind::Permission,
        OpendalErrorKind::AlreadyExists | OpendalErrorKind::ConditionNotMatch => ErrorKind::Exists,
        OpendalErrorKind::ConfigInvalid => {
            let reason = format!("{operation} {path:?}: {}", cause(error));
            return Error::input("target.uri", reason);
        }
        _ if error.is_temporary() => ErrorKind::Unreachable,
        _ => match system_error(error) {
            Some(io) => Error::io(operation, path, io).kind,
            None => ErrorKind::Other,
        },
    };
    Error::new(kind, operation, path, cause(error))
}

/// Finds the operating system's error among the causes of an error of OpenDAL, if there is one.
fn system_error(error: &opendal::Error) -> Option<&std::io::Error> {
    let mut next = std::error::Error::source(error);
    while let Some(inner) = next {
        if let Some(io) = inner.downcast_ref() {
            return Some(io);
        }
        next = inner.source();
    }
    None
}

/// The message of an error of OpenDAL and of its deepest cause, in one line.
pub(super) fn cause(error: &opendal::Error) -> String {
    let mut deepest = std::error::Error::source(error);
    while let Some(inner) = deepest.and_then(|inner| inner.source()) {
        deepest = Some(inner);
    }
    let message = match deepest {
        Some(inner) => format!("{}: {inner}", error.message()),
        None => error.message().to_string(),
    };
    message.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
