//! Python bindings of the crate `dfslab-trace`. Spans are passed as tables or as OTLP, profiles as
//! JSON.

use std::path::{Path, PathBuf};

use dfslab_trace::{
    assign_trace_ids, folded, merge_parts, otlp_text, pprof, profile_files, savings_of_sample,
    sharing, summarise_files, timelines, whole_trees, write_file, MergedCalls, OutputFormat, Part,
    Reading, Report, ReportOptions, SpanProfile, SpanStore, SpanStream, TraceSummary, Window,
};
use pyo3::prelude::*;

use crate::error::{from_trace, InputError, RunError};
use crate::spans::SpanTable;

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_write, module)?)?;
    module.add_function(wrap_pyfunction!(trace_profile, module)?)?;
    module.add_function(wrap_pyfunction!(trace_report, module)?)?;
    module.add_function(wrap_pyfunction!(trace_part, module)?)?;
    module.add_function(wrap_pyfunction!(trace_sharing, module)?)?;
    module.add_function(wrap_pyfunction!(merge_trace_shards, module)?)?;
    module.add_function(wrap_pyfunction!(trace_folded, module)?)?;
    module.add_function(wrap_pyfunction!(trace_pprof, module)?)?;
    module.add_function(wrap_pyfunction!(trace_otlp, module)?)?;
    module.add_function(wrap_pyfunction!(trace_spans, module)?)?;
    module.add_class::<TraceStream>()
}

/// Writes the spans of a load run as an OTLP trace file, atomically. Every span gets the service
/// name `service`, and every call tree a separate trace id. `format` is "json" or "protobuf".
/// Raises InputError for another format or a span id of 0.
#[pyfunction]
fn trace_write(
    py: Python<'_>,
    spans: &Bound<'_, SpanTable>,
    service: &str,
    path: PathBuf,
    format: &str,
) -> PyResult<()> {
    let format = match format {
        "json" => OutputFormat::Json,
        "protobuf" => OutputFormat::Protobuf,
        other => {
            let line = format!("trace format {other:?}: allowed are \"json\" and \"protobuf\"");
            return Err(InputError::new_err(line));
        }
    };
    let given = &spans.get().store;
    if let Some(row) = given.spans.iter().position(|span| span.span_id == 0) {
        let line = format!("span {row}: span_id 0, allowed are 1 to 2^64 - 1");
        return Err(InputError::new_err(line));
    }
    py.detach(|| {
        let mut store = given.clone();
        let service = store.intern(service);
        for span in &mut store.spans {
            span.service = service;
        }
        assign_trace_ids(&mut store);
        write_file(&store, &path, format).map_err(from_trace)
    })
}

/// Merges trace files into one compressed profile. Returns the profile as JSON. The profile
/// includes, for each step, the estimated end-to-end gain from making this step faster.
///
/// `options_json` is an object with these keys:
/// - `wait_patterns`: patterns for the names of calls that wait
/// - `ranking_limit`: the largest number of entries in a ranking
/// - `factor`: how many times faster each step is made to estimate its gain; above 1
/// - `sampled`: the sampling probability that is assumed for calls without a recorded one
/// - `format`: the name of the file format
/// - `choice`: an object with three lists. `keep` and `drop` have rules that decide which calls are
///   kept. `steps` has pairs of a new name and the patterns of the calls that get this name.
#[pyfunction]
fn trace_profile(py: Python<'_>, paths: Vec<PathBuf>, options_json: &str) -> PyResult<String> {
    let options = options_of(options_json)?;
    let reading = reading_of(&options)?;
    py.detach(|| {
        let summary = summarise_files(&paths, Window::default(), &reading).map_err(from_trace)?;
        report_json(&kept(summary)?, &options)
    })
}

/// Returns the profile of calls that are already merged, as JSON: the reduction, the nested trees
/// and the rankings. `merged_json` is a `MergedCalls`, in which each parent precedes its children.
/// Raises InputError if `merged_json` is invalid.
#[pyfunction]
fn trace_report(py: Python<'_>, merged_json: &str) -> PyResult<String> {
    py.detach(|| {
        let merged: MergedCalls = serde_json::from_str(merged_json)
            .map_err(|error| InputError::new_err(format!("merged calls: {error}")))?;
        let is_late = |(place, above): (u32, Option<u32>)| above.is_some_and(|one| one >= place);
        if (0..)
            .zip(merged.nodes.iter().map(|node| node.above))
            .any(is_late)
        {
            let line = "merged calls: a node is not after its parent";
            return Err(InputError::new_err(line));
        }
        let report = Report::of_merged(merged, &ReportOptions::default());
        written(&report)
    })
}

fn written(report: &Report) -> PyResult<String> {
    serde_json::to_string(report)
        .map_err(|error| RunError::new_err(format!("writing the profile as JSON: {error}")))
}

fn options_of(options_json: &str) -> PyResult<ReportOptions> {
    serde_json::from_str(options_json)
        .map_err(|error| InputError::new_err(format!("trace options: {error}")))
}

fn reading_of(options: &ReportOptions) -> PyResult<Reading> {
    options.reading().map_err(InputError::new_err)
}

fn kept(summary: TraceSummary) -> PyResult<TraceSummary> {
    let profile = summary.profile.some_kept().map_err(InputError::new_err)?;
    Ok(TraceSummary { profile, ..summary })
}

fn part_of(bytes: &[u8]) -> PyResult<Part> {
    Part::from_bytes(bytes).map_err(|error| RunError::new_err(format!("a part of traces: {error}")))
}

/// Reads trace files as one shard of a larger profile. Returns the shard's encoding, which
/// `merge_trace_shards` and `trace_sharing` of the same version of dfslab can read.
#[pyfunction]
fn trace_part(py: Python<'_>, paths: Vec<PathBuf>, options_json: &str) -> PyResult<Vec<u8>> {
    let reading = reading_of(&options_of(options_json)?)?;
    py.detach(|| {
        let summary = summarise_files(&paths, Window::default(), &reading).map_err(from_trace)?;
        let name = paths
            .first()
            .expect("files were read")
            .display()
            .to_string();
        Part::of(&name, &summary)
            .to_bytes()
            .map_err(|error| RunError::new_err(format!("a part of traces: {error}")))
    })
}

/// Finds shards that have spans of the same traces. The files of such shards must be read as one
/// shard. Returns a list of groups of shards. A group is a list of two or more indices into
/// `parts`. A shard that shares no trace with another is in no group.
#[pyfunction]
fn trace_sharing(py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<Vec<Vec<usize>>> {
    py.detach(|| {
        let parts: Vec<Part> = parts
            .iter()
            .map(|part| part_of(part))
            .collect::<PyResult<_>>()?;
        Ok(sharing(&parts))
    })
}

/// Merges shards, in any order, into one profile. Returns JSON as `trace_profile` does.
#[pyfunction]
fn merge_trace_shards(py: Python<'_>, parts: Vec<Vec<u8>>, options_json: &str) -> PyResult<String> {
    let options = options_of(options_json)?;
    let selection = reading_of(&options)?.selection;
    py.detach(|| {
        let parts: Vec<Part> = parts
            .iter()
            .map(|part| part_of(part))
            .collect::<PyResult<_>>()?;
        report_json(&kept(merge_parts(parts, selection))?, &options)
    })
}

fn report_json(summary: &TraceSummary, options: &ReportOptions) -> PyResult<String> {
    let savings = savings_of_sample(&summary.sample, summary.trees_left_out, options);
    let report = Report {
        savings: Some(savings),
        clocks: summary.clocks.clone(),
        timelines: timelines(&summary.sample, options),
        ..Report::of(&summary.profile, options)
    };
    written(&report)
}

/// Merges trace files and returns folded stacks: one line for each call path, with its self time in
/// nanoseconds.
#[pyfunction]
#[pyo3(signature = (paths, options_json="{}"))]
fn trace_folded(py: Python<'_>, paths: Vec<PathBuf>, options_json: &str) -> PyResult<String> {
    let reading = reading_of(&options_of(options_json)?)?;
    py.detach(|| Ok(folded(&profile_of(&paths, &reading)?)))
}

fn profile_of(paths: &[PathBuf], reading: &Reading) -> PyResult<SpanProfile> {
    let profile = profile_files(paths, reading).map_err(from_trace)?;
    profile.some_kept().map_err(InputError::new_err)
}

/// Merges trace files and returns their profile in the format of pprof, not compressed.
#[pyfunction]
#[pyo3(signature = (paths, options_json="{}"))]
fn trace_pprof(py: Python<'_>, paths: Vec<PathBuf>, options_json: &str) -> PyResult<Vec<u8>> {
    let reading = reading_of(&options_of(options_json)?)?;
    py.detach(|| Ok(pprof(&profile_of(&paths, &reading)?)))
}

/// Merges trace files and takes a random sample of complete call trees. Returns the sample as OTLP
/// JSON of about `spans_max` spans, and the number of trees that are not in the sample.
#[pyfunction]
fn trace_otlp(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    spans_max: usize,
    options_json: &str,
) -> PyResult<(String, u64)> {
    let options = options_of(options_json)?;
    let reading = reading_of(&options)?;
    py.detach(|| {
        let summary = summarise_files(&paths, Window::default(), &reading).map_err(from_trace)?;
        let summary = kept(summary)?;
        let (text, left_out) = otlp_text(&summary.sample, spans_max, &options);
        Ok((text, left_out + summary.trees_left_out))
    })
}

/// Merges trace files and takes a random sample of complete call trees. Returns the sample as a
/// table of about `spans_max` spans, trace by trace, and the number of trees that are not in the
/// sample.
#[pyfunction]
fn trace_spans(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    spans_max: usize,
    options_json: &str,
) -> PyResult<(Py<SpanTable>, u64)> {
    let options = options_of(options_json)?;
    let reading = reading_of(&options)?;
    let (store, left_out) = py.detach(|| {
        let summary = summarise_files(&paths, Window::default(), &reading).map_err(from_trace)?;
        let TraceSummary {
            sample,
            trees_left_out,
            ..
        } = kept(summary)?;
        let (spans, left_out) = whole_trees(&sample, spans_max, &options);
        let texts = sample.texts;
        let store = SpanStore {
            spans,
            texts,
            ..SpanStore::default()
        };
        Ok::<_, PyErr>((store, left_out + trees_left_out))
    })?;
    Ok((Py::new(py, SpanTable::of(store))?, left_out))
}

/// Accumulates a stream of OTLP messages into one profile, in bounded memory.
#[pyclass]
struct TraceStream {
    /// The stream; None after it has ended.
    stream: Option<SpanStream>,
}

impl TraceStream {
    fn open(&mut self) -> PyResult<&mut SpanStream> {
        let ended = || RunError::new_err("the stream of spans has ended");
        self.stream.as_mut().ok_or_else(ended)
    }
}

#[pymethods]
impl TraceStream {
    #[new]
    fn new() -> Self {
        let stream = Some(SpanStream::new(Window::default()));
        TraceStream { stream }
    }

    /// Adds one OTLP message, as protobuf or JSON. `name` identifies the message in errors. An
    /// invalid message raises an exception. Its spans before the position of the error are added
    /// nevertheless.
    fn push(&mut self, py: Python<'_>, name: &str, message: &[u8]) -> PyResult<()> {
        let stream = self.open()?;
        py.detach(|| stream.read(Path::new(name), message))
            .map_err(from_trace)
    }

    /// Number of spans in memory that wait until their traces are complete.
    fn waiting(&mut self) -> PyResult<usize> {
        Ok(self.open()?.waiting())
    }

    /// Returns the profile of the complete traces as JSON. A trace counts as complete if it
    /// received no spans since the last snapshot; other traces are omitted. Unlike the profile of
    /// files, this profile has no estimates of the gains from faster steps.
    fn snapshot(&mut self, py: Python<'_>, options_json: &str) -> PyResult<String> {
        let options = options_of(options_json)?;
        let stream = self.open()?;
        py.detach(|| {
            stream.merge_quiet();
            let report = Report::of(&stream.snapshot(), &options);
            written(&report)
        })
    }

    /// Ends the stream and returns the profile as JSON, as `trace_profile` does.
    fn finish(&mut self, py: Python<'_>, options_json: &str) -> PyResult<String> {
        let options = options_of(options_json)?;
        self.open()?;
        let stream = self.stream.take().expect("it is open");
        py.detach(|| report_json(&stream.finish(), &options))
    }
}
