//! Turns panics of client libraries into errors.

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::{Error, ErrorKind, Result};

/// Calls `work` and turns a panic into an error. Without this, a panic of a client library would
/// make the other clients wait at a barrier for ever. `doing` names the work in the error.
pub fn guarded<T>(doing: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::new(
            ErrorKind::Crash,
            doing,
            "client",
            text.unwrap_or("panic"),
        ))
    })
}
