//! Waits for calls of the crate hdfs-native, and converts their errors.

use std::future::Future;

use hdfs_native::HdfsError;
use tokio::runtime::Runtime;

use crate::target::waiting;
use crate::{Error, ErrorKind, Result};

/// Waits for one asynchronous call of the crate hdfs-native, and converts its error.
pub(super) fn wait<T>(
    runtime: &Runtime,
    operation: &'static str,
    path: &str,
    call: impl Future<Output = hdfs_native::Result<T>>,
) -> Result<T> {
    let convert = |error| hdfs_error(operation, path, &error);
    waiting::wait(runtime, (operation, path), call, convert)
}

fn hdfs_error(operation: &'static str, path: &str, error: &HdfsError) -> Error {
    let kind = match error {
        HdfsError::IOError(io) => return Error::io(operation, path, io),
        HdfsError::FileNotFound(_) => ErrorKind::NotFound,
        HdfsError::AlreadyExists(_) => ErrorKind::Exists,
        HdfsError::ChecksumError => ErrorKind::Corruption,
        HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _) => {
            match class.rsplit('.').next().unwrap_or(class) {
                "AccessControlException" => ErrorKind::Permission,
                "DSQuotaExceededException" | "NSQuotaExceededException" => ErrorKind::NoSpace,
                "FileNotFoundException" => ErrorKind::NotFound,
                _ => ErrorKind::Other,
            }
        }
        _ => ErrorKind::Other,
    };
    let text = error.to_string();
    Error::new(kind, operation, path, text.lines().next().unwrap_or(&text))
}
