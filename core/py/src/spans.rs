//! Converts the spans of a load run or of trace files to tables for Python.

use std::path::PathBuf;

use dfslab_load::SpanRecord;
use dfslab_trace::{write_file, OutputFormat, Span, SpanStore};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::columns::{Columns, Values};
use crate::error::from_trace;
use crate::table::Table;

/// A table of spans, one row for each span. Spans of a load run have no trace id and no service in
/// the table; they get both when they are written to a file.
#[pyclass(extends = Table, frozen, module = "dfslab._core")]
pub struct SpanTable {
    /// The spans in the form that the functions of the crate `dfslab-trace` take.
    pub store: SpanStore,
}

impl SpanTable {
    /// Creates the table of all spans in `store`.
    pub fn of(store: SpanStore) -> PyClassInitializer<Self> {
        let table = Table::of(columns(&store));
        PyClassInitializer::from(table).add_subclass(SpanTable { store })
    }

    /// Creates the table of the spans that a load run recorded.
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
    /// Creates a table of spans of a load run from lists, one for each column. Times are Unix times
    /// in ns. Raises ValueError if the lists differ in length.
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

    /// Writes the spans of the rows with these indices as an OTLP trace file (protobuf),
    /// atomically. Raises IndexError for an index beyond the table.
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

/// Index of the empty text in the table of texts of every store. The empty text stands for a
/// missing text, such as the service of a span without a service.
const NO_TEXT: u32 = 0;

/// Adds the class of the table to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SpanTable>()
}
