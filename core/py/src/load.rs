//! Streams and load runs across the border: JSON and plain tuples.

use std::sync::Arc;
use std::time::Duration;

use dfslab_load::{capabilities_of, run, Control, Outcome, Plan};
use dfslab_workload::{encode, prepared_files, Operation, Stream, StreamSpec};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{from_load, InputError, RunError};

/// How often the waiting thread looks for Ctrl-C and tells the progress.
const POLL: Duration = Duration::from_millis(50);

type OperationTuple = (u32, u64, &'static str, u64, u64, u64);
type SpanTuple = (String, u64, u64, u64, u64, u32, u64);

fn spec_of(text: &str) -> PyResult<StreamSpec> {
    let spec: StreamSpec = serde_json::from_str(text)
        .map_err(|error| InputError::new_err(format!("stream: {error}")))?;
    spec.validate().map_err(|error| InputError::new_err(error.to_string()))?;
    Ok(spec)
}

/// What a target can do, as JSON.
#[pyfunction]
fn capabilities(target: &str) -> PyResult<String> {
    let found = capabilities_of(target).map_err(from_load)?;
    Ok(serde_json::to_string(&found).expect("plain data"))
}

/// The canonical bytes of one client's stream.
#[pyfunction]
fn stream_bytes<'py>(py: Python<'py>, spec: &str, client: u32) -> PyResult<Bound<'py, PyBytes>> {
    let spec = spec_of(spec)?;
    let operations: Vec<Operation> = Stream::new(&spec, client).collect();
    Ok(PyBytes::new(py, &encode(&operations)))
}

/// One client's stream as tuples (client, index, operation, file, size, transfer size), at most
/// `limit` of them.
#[pyfunction]
#[pyo3(signature = (spec, client, limit=None))]
fn stream_operations(
    spec: &str,
    client: u32,
    limit: Option<usize>,
) -> PyResult<Vec<OperationTuple>> {
    let spec = spec_of(spec)?;
    let tuple = |o: Operation| {
        (o.client, o.index, o.kind.name(), o.file, o.size_bytes, o.transfer_size_bytes)
    };
    Ok(Stream::new(&spec, client).take(limit.unwrap_or(usize::MAX)).map(tuple).collect())
}

/// Bytes that preparing a run writes, all clients together.
#[pyfunction]
fn prepared_bytes(spec: &str) -> PyResult<u64> {
    let spec = spec_of(spec)?;
    let of = |client| prepared_files(&spec, client).iter().map(|(_, bytes)| bytes).sum::<u64>();
    Ok((0..spec.clients).map(of).sum())
}

/// Run a plan: (report as JSON, spans, executed operations). `progress(share, phase)` is called now
/// and then. Ctrl-C stops the run, cleans up and raises KeyboardInterrupt.
#[pyfunction]
#[pyo3(signature = (plan, progress=None))]
fn run_load<'py>(
    py: Python<'py>,
    plan: &str,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(String, Vec<SpanTuple>, Bound<'py, PyBytes>)> {
    let plan = Plan::parse(plan).map_err(from_load)?;
    let total = plan.stream.operations_per_client * u64::from(plan.stream.clients);
    let control = Arc::new(Control::default());
    let worker = {
        let control = Arc::clone(&control);
        std::thread::spawn(move || run(&plan, &control))
    };
    let mut interrupted = None;
    while !worker.is_finished() {
        py.detach(|| std::thread::sleep(POLL));
        let told = py.check_signals().and_then(|()| match &progress {
            Some(progress) if interrupted.is_none() => {
                let (done, phase) = control.progress();
                progress.call1((done as f64 / total as f64, phase)).map(|_| ())
            }
            _ => Ok(()),
        });
        if let Err(error) = told {
            control.stop();
            interrupted.get_or_insert(error);
        }
    }
    let outcome = worker.join().map_err(|_| RunError::new_err("the load generator crashed"))?;
    match interrupted {
        Some(error) => Err(error),
        None => Ok(tuples(py, outcome.map_err(from_load)?)),
    }
}

fn tuples(py: Python<'_>, outcome: Outcome) -> (String, Vec<SpanTuple>, Bound<'_, PyBytes>) {
    let report = serde_json::to_string(&outcome.report).expect("plain data");
    let spans = outcome.spans.into_iter().map(|s| {
        (s.name, s.start_unix_ns, s.end_unix_ns, s.span_id, s.parent_id, s.thread, s.bytes)
    });
    (report, spans.collect(), PyBytes::new(py, &outcome.recorded))
}

/// Register the functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(capabilities, module)?)?;
    module.add_function(wrap_pyfunction!(stream_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(stream_operations, module)?)?;
    module.add_function(wrap_pyfunction!(prepared_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(run_load, module)?)
}
