//! Makes blocking calls of client libraries that are written for an asynchronous runtime.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::{Error, ErrorKind, Result};

/// Number of threads that drive the connections of asynchronous client libraries, while the
/// clients' threads wait for their calls.
const RUNTIME_THREADS: usize = 2;
/// Time limit of a call. Some client libraries wait without limit, which would make a measurement
/// impossible.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// Returns the asynchronous runtime of this process. All runs share it, because client libraries
/// cache connections, and a connection ends with the runtime that opened it. If the runtime cannot
/// start, the error names `address`.
pub fn runtime(address: &str) -> Result<Arc<Runtime>> {
    static RUNTIME: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = shared.as_ref() {
        return Ok(Arc::clone(runtime));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .map_err(|error| Error::io("start", address, &error))?;
    Ok(Arc::clone(shared.insert(Arc::new(runtime))))
}

/// Waits for one asynchronous call of a client library, at most CALL_LIMIT. `convert` converts an
/// error of the library. If the time limit is exceeded, the error has the kind Timeout.
pub fn wait<T, E>(
    runtime: &Runtime,
    (operation, path): (&'static str, &str),
    call: impl Future<Output = std::result::Result<T, E>>,
    convert: impl FnOnce(E) -> Error,
) -> Result<T> {
    let limited = async { tokio::time::timeout(CALL_LIMIT, call).await };
    match runtime.block_on(limited) {
        Ok(outcome) => outcome.map_err(convert),
        Err(_) => {
            let reason = format!("no answer within {} s", CALL_LIMIT.as_secs());
            Err(Error::new(ErrorKind::Timeout, operation, path, reason))
        }
    }
}
