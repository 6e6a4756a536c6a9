//! Converts the operations of a stream to a table for Python.

use dfslab_workload::{Operation, OperationKind};
use pyo3::prelude::*;

use crate::columns::{Columns, Dictionary, Values};
use crate::table::Table;

/// A table of the operations of a stream. It has one row for each operation, in the order of the
/// stream.
#[pyclass(extends = Table, frozen, module = "dfslab._core")]
pub struct OperationTable;

/// Creates the table of these operations.
pub fn operation_table(py: Python<'_>, rows: &[Operation]) -> PyResult<Py<OperationTable>> {
    let table = Table::of(columns(rows));
    Py::new(
        py,
        PyClassInitializer::from(table).add_subclass(OperationTable),
    )
}

fn columns(rows: &[Operation]) -> Columns {
    let short = |of: fn(&Operation) -> u32| Values::U32(rows.iter().map(of).collect());
    let long = |of: fn(&Operation) -> u64| Values::U64(rows.iter().map(of).collect());
    let names = Dictionary::of(OperationKind::ALL.map(OperationKind::name));
    let kinds = rows.iter().map(|row| row.kind as i32).collect();
    Columns::of_rows(rows.len())
        .with(c"client", short(|row| row.client))
        .with(c"number", long(|row| row.index))
        .with(c"operation", Values::Texts(kinds, names))
        .with(c"file", long(|row| row.file))
        .with(c"size_bytes", long(|row| row.size_bytes))
        .with(c"transfer_size_bytes", long(|row| row.transfer_size_bytes))
        .with(c"offset_bytes", long(|row| row.offset_bytes))
        .with(c"owner", short(|row| row.owner))
        .with(c"phase", short(|row| row.phase))
}

/// Adds the class of the table to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<OperationTable>()
}
