//! Python binding of the delay line, which emulates delay and loss on links.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dfslab_link::{run, LinkDirection};
use pyo3::prelude::*;

use crate::error::{InputError, RunError};

/// Interval at which the thread that waits for the delay line checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);

/// Delays and drops the packets of NFQUEUE queues until Ctrl-C. `lines` is a JSON list with one
/// object for each queue. An object has the queue's number, its network namespace, and the delay,
/// jitter and probability of loss of its packets. `ready` is called without arguments once every
/// queue is bound. Returns a report for each queue as JSON. Raises InputError for invalid `lines`,
/// RunError if a queue fails.
#[pyfunction]
fn delay_line(py: Python<'_>, lines: &str, ready: Py<PyAny>) -> PyResult<String> {
    let lines: Vec<LinkDirection> = serde_json::from_str(lines)
        .map_err(|error| InputError::new_err(format!("delay line: {error}")))?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let notify = || {
            Python::attach(|py| {
                // An exception that `ready` raises does not stop the delay line.
                let _ = ready.call0(py);
            });
        };
        let (lines, stop) = (&lines, &stop);
        let worker = scope.spawn(move || run(lines, stop, notify));
        while !worker.is_finished() {
            py.detach(|| std::thread::sleep(POLL));
            if py.check_signals().is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let outcome = py.detach(|| worker.join());
        let reports = outcome
            .map_err(|_| RunError::new_err("the delay line crashed"))?
            .map_err(RunError::new_err)?;
        Ok(serde_json::to_string(&reports).expect("plain data"))
    })
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(delay_line, module)?)
}
