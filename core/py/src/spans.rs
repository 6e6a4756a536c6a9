//! Spans as a table: those of a load run, and those of traces.

use std::path::PathBuf;

use dfslab_load::SpanRecord;
use dfslab_trace::{write_file, OutputFormat, Span, SpanStore};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::columns::{Columns, Values};
use crate::error::from_trace;
use crate::table::Table;

/// Spans, one a row. Those of a load run belong to no trace and to no service before they are
/// written.
#[pyclass(extends = Table, frozen, module = "dfslab._core")]
pub struct SpanTable {
    /// The rows as the crate of traces takes them.
    pub store: SpanStore,
}

impl SpanTable {
    /// A table of all spans in a store.
    pub fn of(store: SpanStore) -> PyClassInitializer<Self> {
        let table = Table::of(columns(&store));
        PyClassInitializer::from(table).add_subclass(SpanTable { store })
    }

    /// A table of the spans of a load run.
    pub fn of_load(records: impl IntoIterator<Item = SpanRecord>) -> PyClassInitializer<Self> {
        let mut store = SpanStore::default();
        for record in records {
            let name = store.intern(&record.name);
            store.spans.push(Span {
                span_id: record.span_id,
                parent_id: record.parent_id,
                name,
                start_ns: record.start_unix_ns,
                end_ns: record.end_unix_ns,
                thread: u64::from(record.thread),
                bytes: record.bytes,
                ..Span::default()
            });
        }
        SpanTable::of(store)
    }
}

#[pymethods]
impl SpanTable {
    /// Spans of a load run from their columns, which must have the same length.
    #[new]
    fn new(
        name: Vec<String>,
        start_unix_ns: Vec<u64>,
        end_unix_ns: Vec<u64>,
        span_id: Vec<u64>,
        parent_id: Vec<u64>,
        thread: Vec<u32>,
        bytes: Vec<u64>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let numbers = [&start_unix_ns, &end_unix_ns, &span_id, &parent_id, &bytes];
        let mut lengths = numbers.map(Vec::len).into_iter().chain([thread.len()]);
        if lengths.any(|rows| rows != name.len()) {
            let line = "the columns of a table of spans must have the same length";
            return Err(PyValueError::new_err(line));
        }
        let record = |(row, name)| SpanRecord {
            name,
            start_unix_ns: start_unix_ns[row],
            end_unix_ns: end_unix_ns[row],
            span_id: span_id[row],
            parent_id: parent_id[row],
            thread: thread[row],
            bytes: bytes[row],
        };
        Ok(SpanTable::of_load(name.into_iter().enumerate().map(record)))
    }

    /// Writes the spans of some rows as an OTLP trace file (protobuf), atomically.
    fn write(&self, py: Python<'_>, rows: Vec<usize>, path: PathBuf) -> PyResult<()> {
        let all = &self.store.spans;
        if let Some(row) = rows.iter().find(|&&row| row >= all.len()) {
            let line = format!("row {row} of a table of {} spans", all.len());
            return Err(PyIndexError::new_err(line));
        }
        py.detach(|| {
            let store = SpanStore {
                spans: rows.iter().map(|&row| all[row]).collect(),
                texts: self.store.texts.clone(),
                ..SpanStore::default()
            };
            write_file(&store, &path, OutputFormat::Protobuf).map_err(from_trace)
        })
    }
}

fn columns(store: &SpanStore) -> Columns {
    let rows = &store.spans;
    let long = |of: fn(&Span) -> u64| Values::U64(rows.iter().map(of).collect());
    let text = |of: fn(&Span) -> u32| {
        let texts = rows.iter().map(|span| store.texts.text(of(span)));
        Values::texts(texts)
    };
    let truth = |of: fn(&Span) -> bool| Values::truths(rows.iter().map(of));
    let given = |of: fn(&Span) -> u32| rows.iter().map(move |span| of(span) != NO_TEXT);
    let ids = rows.iter().map(|span| span.trace_id.to_be_bytes());
    let traced = rows.iter().map(|span| span.trace_id != 0);
    let called = rows.iter().map(|span| span.parent_id != 0);
    Columns::of_rows(rows.len())
        .with_nulls(c"trace_id", Values::Ids(ids.collect()), traced)
        .with(c"span_id", long(|span| span.span_id))
        .with_nulls(c"parent_id", long(|span| span.parent_id), called)
        .with(c"name", text(|span| span.name))
        .with(c"start_unix_ns", long(|span| span.start_ns))
        .with(c"end_unix_ns", long(|span| span.end_ns))
        .with_nulls(c"service", text(|span| span.service), given(|s| s.service))
        .with_nulls(c"host", text(|span| span.host), given(|span| span.host))
        .with(c"thread", long(|span| span.thread))
        .with(c"bytes", long(|span| span.bytes))
        .with(c"error", truth(|span| span.status_error))
        .with(c"wait", truth(|span| span.wait))
}

/// The number of the empty text in every store.
const NO_TEXT: u32 = 0;

/// Adds the class.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SpanTable>()
}
