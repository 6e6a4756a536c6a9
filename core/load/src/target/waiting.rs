//! Blocking calls of clients written for an asynchronous runtime.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::{Error, ErrorKind, Result};

/// Threads that drive the connections; the clients' threads block on them.
const RUNTIME_THREADS: usize = 2;
/// Some client libraries wait without limit, which no measurement can use.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// One runtime for all runs of the process: client libraries cache connections, which die with the
/// runtime that opened them.
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

/// Waits for one call, with a time limit.
pub fn wait<T, E>(
    runtime: &Runtime,
    (operation, path): (&'static str, &str),
    call: impl Future<Output = std::result::Result<T, E>>,
    told: impl FnOnce(E) -> Error,
) -> Result<T> {
    let limited = async { tokio::time::timeout(CALL_LIMIT, call).await };
    match runtime.block_on(limited) {
        Ok(outcome) => outcome.map_err(told),
        Err(_) => {
            let reason = format!("no answer within {} s", CALL_LIMIT.as_secs());
            Err(Error::new(ErrorKind::Timeout, operation, path, reason))
        }
    }
}
