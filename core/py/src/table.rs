//! Tables for Python: each column is an attribute, and other libraries read the tables through the
//! Arrow PyCapsule interface.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyMemoryView, PyString};

use crate::arrow::{array_capsule, schema_capsule, stream_capsule};
use crate::columns::{bit, Column, Columns, Values};

/// A table of columns of equal length. Each column is an attribute of the table. A column of
/// integers is a memoryview, with 0 where a row has no value. Any other column is a list, with None
/// where a row has no value.
#[pyclass(subclass, frozen, module = "dfslab._core")]
pub struct Table {
    /// The columns, which never change.
    pub columns: Arc<Columns>,
}

impl Table {
    /// Creates a table of these columns.
    pub fn of(columns: Columns) -> Self {
        let columns = Arc::new(columns);
        Table { columns }
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.columns.place(name) {
            Some(place) => read(py, &self.columns, place),
            None => Err(PyAttributeError::new_err(format!("no column {name:?}"))),
        }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.columns)
    }

    /// Returns two capsules, one with the schema and one with the values of the table, as the Arrow
    /// PyCapsule interface requires. `requested_schema` is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let schema = schema_capsule(py, &self.columns)?;
        Ok((schema, array_capsule(py, &self.columns)?))
    }

    /// Returns a capsule with a stream, as the Arrow PyCapsule interface requires. The stream has
    /// one array: the whole table. `requested_schema` is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        stream_capsule(py, &self.columns)
    }
}

/// Converts the column with the index `place` to the object that Python reads: a memoryview or a
/// list.
fn read<'py>(py: Python<'py>, all: &Arc<Columns>, place: usize) -> PyResult<Bound<'py, PyAny>> {
    let column = &all.all()[place];
    let rows = 0..all.rows();
    match &column.values {
        Values::U32(_) => view(py, all, place, "I"),
        Values::U64(_) => view(py, all, place, "Q"),
        Values::Bits(bytes) => list(py, column, rows.map(|row| bit(bytes, row))),
        Values::Ids(values) => list(py, column, values.iter().map(|id| PyBytes::new(py, id))),
        Values::Texts(places, dictionary) => {
            // Each distinct text becomes one Python text, which all its rows share.
            let texts = dictionary.texts().map(|text| PyString::new(py, text));
            let texts: Vec<_> = texts.collect();
            let of_row = |&place: &i32| texts[place as usize].clone();
            list(py, column, places.iter().map(of_row))
        }
    }
}

/// Converts a column to a Python list, with None for each row that has no value.
fn list<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    column: &Column,
    values: impl ExactSizeIterator<Item = T>,
) -> PyResult<Bound<'py, PyAny>> {
    let value = |(row, value)| (!column.is_null(row)).then_some(value);
    Ok(PyList::new(py, values.enumerate().map(value))?.into_any())
}

/// Returns a column of integers as a memoryview of its memory. `format` is a format character of
/// Python's module `struct`.
fn view<'py>(
    py: Python<'py>,
    columns: &Arc<Columns>,
    place: usize,
    format: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let columns = Arc::clone(columns);
    let memory = Bound::new(py, Memory { columns, place })?;
    PyMemoryView::from(memory.as_any())?.call_method1("cast", (format,))
}

/// A Python object that exposes the memory of one column by the buffer protocol. The object keeps
/// the memory alive as long as a view of it exists.
#[pyclass(frozen)]
struct Memory {
    columns: Arc<Columns>,
    place: usize,
}

#[pymethods]
impl Memory {
    /// # Safety
    ///
    /// `buffer` points to a `Py_buffer` that this function may fill, or is null.
    unsafe fn __getbuffer__(
        memory: Bound<'_, Self>,
        buffer: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        const READ_ONLY: c_int = 1;
        let own = memory.get();
        let bytes = own.columns.all()[own.place].values.bytes();
        let first = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the bytes never change. The bytes live as long as `memory`, and the buffer has a
        // reference to `memory`. The buffer is read-only: a request for a writable buffer fails.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                buffer,
                memory.as_ptr(),
                first,
                bytes.len() as ffi::Py_ssize_t,
                READ_ONLY,
                flags,
            )
        };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(memory.py())),
        }
    }
}

/// Adds the class of tables to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()
}
