//! Python bindings of the delay line.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dfslab_link::{run, Line};
use pyo3::prelude::*;

use crate::error::{InputError, RunError};

/// Interval at which the waiting thread checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);

/// Delays the packets of queues until Ctrl-C. `lines` is a JSON list of lines; returns their
/// reports as JSON. `ready` is called once every queue is bound.
#[pyfunction]
fn delay_line(py: Python<'_>, lines: &str, ready: Py<PyAny>) -> PyResult<String> {
    let lines: Vec<Line> = serde_json::from_str(lines)
        .map_err(|error| InputError::new_err(format!("delay line: {error}")))?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let told = || {
            Python::attach(|py| {
                // An exception of the callback does not stop the delay line.
                let _ = ready.call0(py);
            });
        };
        let (lines, stop) = (&lines, &stop);
        let worker = scope.spawn(move || run(lines, stop, told));
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
