//! Blocking calls to client libraries that are written for an asynchronous runtime.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::{Error, ErrorKind, Result};

/// Threads that drive the connections; the clients' threads block on them.
const RUNTIME_THREADS: usize = 2;
/// Time limit of a call: some client libraries wait without limit, which makes a measurement
/// impossible.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// Returns the runtime for `address`, which all runs of the process share: client libraries cache
/// connections, and these end with the runtime that opened them.
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

/// Waits for one call, at most CALL_LIMIT; `told` converts an error of the crate.
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
