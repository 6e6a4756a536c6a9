//! Python bindings of the load generator. Some functions return the operations of a stream, others
//! run a load or merge reports. Arguments and results are JSON, tables or bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use dfslab_load::{
    capabilities_of, give_up, hung, monotonic_ns, run, Control, ErrorKind, Outcome, Plan, Report,
};
use dfslab_workload::{encode, prepared_files, Operation, Stream, StreamSpec};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{from_load, InputError, RunError};
use crate::operations::{operation_table, OperationTable};
use crate::spans::SpanTable;

/// Interval at which the thread that waits for a load run checks for Ctrl-C and reports the
/// progress.
const POLL: Duration = Duration::from_millis(50);

fn spec_of(text: &str) -> PyResult<StreamSpec> {
    let spec: StreamSpec = serde_json::from_str(text)
        .map_err(|error| InputError::new_err(format!("stream: {error}")))?;
    spec.validate()
        .map_err(|error| InputError::new_err(error.to_string()))?;
    Ok(spec)
}

/// Returns the capabilities of the target type with this name (such as "posix") as JSON. Raises
/// InputError for an unknown name.
#[pyfunction]
fn capabilities(target: &str) -> PyResult<String> {
    let found = capabilities_of(target).map_err(from_load)?;
    Ok(serde_json::to_string(&found).expect("plain data"))
}

/// Parses the specification of a stream. Returns InputError if the specification is invalid or has
/// no client with the number `client` (from 0).
fn stream_of(text: &str, client: u32) -> PyResult<StreamSpec> {
    let spec = spec_of(text)?;
    if client >= spec.clients {
        let last = spec.clients - 1;
        return Err(InputError::new_err(format!(
            "client = {client}: 0 to {last}"
        )));
    }
    Ok(spec)
}

/// Returns the stream of operations of one client in its canonical encoding. `spec` is the
/// specification of the stream as JSON.
#[pyfunction]
fn stream_bytes<'py>(py: Python<'py>, spec: &str, client: u32) -> PyResult<Bound<'py, PyBytes>> {
    let spec = stream_of(spec, client)?;
    let bytes = py.detach(|| encode(&Stream::new(&spec, client).collect::<Vec<Operation>>()));
    Ok(PyBytes::new(py, &bytes))
}

/// Returns operations of the stream of one client as a table. These are the first `limit`
/// operations, or all if `limit` is None. `spec` is the specification of the stream as JSON.
#[pyfunction]
#[pyo3(signature = (spec, client, limit=None))]
fn stream_operations(
    py: Python<'_>,
    spec: &str,
    client: u32,
    limit: Option<usize>,
) -> PyResult<Py<OperationTable>> {
    let spec = stream_of(spec, client)?;
    let limit = limit.unwrap_or(usize::MAX);
    let rows = py.detach(|| Stream::new(&spec, client).take(limit).collect::<Vec<_>>());
    operation_table(py, &rows)
}

/// Returns the total size in bytes of the files that must exist before a run, over all clients. A
/// size above 2^64 - 1 is returned as 2^64 - 1. The number of bytes written may be smaller, because
/// files can be prepared empty or with holes. `spec` is the specification of the stream as JSON.
#[pyfunction]
fn prepared_bytes(py: Python<'_>, spec: &str) -> PyResult<u64> {
    let spec = spec_of(spec)?;
    let add = |sum: u64, bytes: u64| sum.saturating_add(bytes);
    let of = |client| {
        prepared_files(&spec, client)
            .iter()
            .map(|file| file.1)
            .fold(0, add)
    };
    Ok(py.detach(|| (0..spec.clients).map(of).fold(0, add)))
}

/// The result of a load run: the report as JSON, the recorded spans as a table, and the executed
/// operations in canonical encoding.
type Done<'py> = (String, Py<SpanTable>, Bound<'py, PyBytes>);

/// Runs the load that `plan` (JSON) describes. Returns the report as JSON, the table of the
/// recorded spans, and the executed operations in canonical encoding.
///
/// During the run, the function repeatedly calls `progress(share, phase)`. `phase` is the name of
/// the current stage, such as "preparing", and `share` its completed fraction, 0 to 1. The function
/// also calls `watch(count, errors, latency_ns_sum, latency_ns_max, latencies)`. The first three
/// arguments are totals since the start. `latency_ns_max` is the longest latency since the previous
/// call of `watch`. `latencies` is the histogram of all latencies since the start, as a list of
/// (value in the middle of a bucket in ns, number of operations).
///
/// With a `barrier`, the prepared run waits until `barrier()` returns the start time of the run, a
/// reading of CLOCK_MONOTONIC in seconds.
///
/// Ctrl-C or an exception of a callback stops the run, removes its files and raises
/// KeyboardInterrupt or that exception. A run whose target does not answer within the plan's time
/// limit and grace is given up. The report of this run is incomplete and names the calls that did
/// not return; the run's threads are not ended.
#[pyfunction]
#[pyo3(signature = (plan, progress=None, barrier=None, watch=None))]
fn run_load<'py>(
    py: Python<'py>,
    plan: &str,
    progress: Option<Bound<'py, PyAny>>,
    barrier: Option<Bound<'py, PyAny>>,
    watch: Option<Bound<'py, PyAny>>,
) -> PyResult<Done<'py>> {
    let plan = Plan::parse(plan).map_err(from_load)?;
    let control = Arc::new(match barrier {
        Some(_) => Control::with_barrier(),
        None => Control::default(),
    });
    let over = Arc::new(AtomicBool::new(false));
    let waiting = std::thread::current();
    let worker = {
        let (control, over) = (Arc::clone(&control), Arc::clone(&over));
        let plan = plan.clone();
        std::thread::spawn(move || {
            let outcome = run(&plan, &control);
            over.store(true, Ordering::Release);
            waiting.unpark();
            outcome
        })
    };
    let mut interrupted: Option<PyErr> = None;
    while !over.load(Ordering::Acquire) && !worker.is_finished() {
        py.detach(|| std::thread::park_timeout(POLL));
        let outcome_of_report = match interrupted {
            None => report(
                py,
                &control,
                [&watch, &progress, &barrier].map(Option::as_ref),
            ),
            Some(_) => py.check_signals(),
        };
        if let Err(error) = outcome_of_report {
            control.stop();
            interrupted.get_or_insert(error);
        }
        let hung = hung(&plan, &control, monotonic_ns());
        if !hung.is_empty() {
            // The threads of the worker and its clients keep running, since a thread within a
            // system call cannot be ended.
            return finished(py, interrupted, give_up(&plan, &control, &hung));
        }
    }
    let outcome = worker
        .join()
        .map_err(|_| RunError::new_err("the load generator crashed"))?;
    finished(py, interrupted, outcome)
}

/// The result of a run, or the exception that interrupted it.
fn finished<'py>(
    py: Python<'py>,
    interrupted: Option<PyErr>,
    outcome: dfslab_load::Result<Outcome>,
) -> PyResult<Done<'py>> {
    match interrupted {
        Some(error) => Err(with_what_is_left(py, error, outcome)?),
        None => done(py, outcome.map_err(from_load)?),
    }
}

/// Reports the state of a run to Python. The thread that waits for the run calls this function at
/// each interval. The function does the following, in this order:
/// - checks for Ctrl-C
/// - calls `watch` with the totals so far and `progress` with the completed fraction
/// - if the run waits at its barrier, calls `barrier` and passes the returned start time to the run
///
/// Returns KeyboardInterrupt after Ctrl-C, or the exception of a callback.
fn report(
    py: Python<'_>,
    control: &Control,
    [watch, progress, barrier]: [Option<&Bound<'_, PyAny>>; 3],
) -> PyResult<()> {
    py.check_signals()?;
    if let Some(watch) = watch {
        let counts = control.live_counts();
        let spent = (counts.latency_ns_sum, counts.latency_ns_max);
        let latencies = counts.latencies;
        watch.call1((counts.count, counts.errors, spent.0, spent.1, latencies))?;
    }
    if let Some(progress) = progress {
        progress.call1(control.progress())?;
    }
    match barrier {
        Some(barrier) if control.waiting() => {
            control.start_at_monotonic(barrier.call0()?.extract()?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Merges the reports of the shards of one run into the report of the whole run. All reports are
/// JSON. All shards must have started at the same instant. Raises InputError for an invalid report
/// or an empty list.
#[pyfunction]
fn merge_reports(py: Python<'_>, reports: Vec<String>) -> PyResult<String> {
    py.detach(|| {
        let mut whole: Option<Report> = None;
        for (place, text) in reports.iter().enumerate() {
            let report: Report = serde_json::from_str(text)
                .map_err(|error| InputError::new_err(format!("report {place}: {error}")))?;
            match &mut whole {
                Some(whole) => whole.merge(&report),
                None => whole = Some(report),
            }
        }
        let whole = whole.ok_or_else(|| InputError::new_err("at least one report is needed"))?;
        Ok(serde_json::to_string(&whole).expect("plain data"))
    })
}

/// Adds notes to `error`, the exception that stopped the run, and returns it. There is one note for
/// each error of removing the run's files that `outcome` reports.
fn with_what_is_left(
    py: Python<'_>,
    error: PyErr,
    outcome: dfslab_load::Result<Outcome>,
) -> PyResult<PyErr> {
    let left = match outcome {
        // Invalid input is found before any file is created, so there are no files to note.
        Err(error) if error.kind == ErrorKind::Input => Vec::new(),
        Err(error) => vec![error.to_string()],
        Ok(outcome) => {
            let errors = outcome.report.errors.into_iter();
            errors
                .filter(|e| e.operation.starts_with("clean_up"))
                .map(|e| e.first)
                .collect()
        }
    };
    for text in left {
        error
            .value(py)
            .call_method1("add_note", (format!("cleaning up: {text}"),))?;
    }
    Ok(error)
}

fn done(py: Python<'_>, outcome: Outcome) -> PyResult<Done<'_>> {
    let report = serde_json::to_string(&outcome.report).expect("plain data");
    let spans = Py::new(py, SpanTable::of_load(outcome.spans))?;
    Ok((report, spans, PyBytes::new(py, &outcome.recorded)))
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(capabilities, module)?)?;
    module.add_function(wrap_pyfunction!(stream_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(stream_operations, module)?)?;
    module.add_function(wrap_pyfunction!(prepared_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(run_load, module)?)?;
    module.add_function(wrap_pyfunction!(merge_reports, module)?)
}
