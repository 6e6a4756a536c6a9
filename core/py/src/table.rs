//! Tables of rows as Python sees them: columns as attributes, and the Arrow PyCapsule interface.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyMemoryView, PyString};

use crate::arrow::{array_capsule, schema_capsule, stream_capsule};
use crate::columns::{bit, Column, Columns, Values};

/// Columns of equal length, each an attribute: integers as a view of their memory, whose null is 0,
/// and other types as a list, whose null is None.
#[pyclass(subclass, frozen, module = "dfslab._core")]
pub struct Table {
    /// The columns, which never change.
    pub columns: Arc<Columns>,
}

impl Table {
    /// A table of these columns.
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

    /// The protocol allows a producer to ignore the requested schema.
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

    /// As `__arrow_c_array__`, as a stream of one array.
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

/// A column as Python reads it.
fn read<'py>(py: Python<'py>, all: &Arc<Columns>, place: usize) -> PyResult<Bound<'py, PyAny>> {
    let column = &all.all()[place];
    let rows = 0..all.rows();
    match &column.values {
        Values::U32(_) => view(py, all, place, "I"),
        Values::U64(_) => view(py, all, place, "Q"),
        Values::Bits(bytes) => list(py, column, rows.map(|row| bit(bytes, row))),
        Values::Ids(values) => list(py, column, values.iter().map(|id| PyBytes::new(py, id))),
        Values::Texts(places, dictionary) => {
            // One Python text for each distinct one, which its rows share.
            let texts = dictionary.texts().map(|text| PyString::new(py, text));
            let texts: Vec<_> = texts.collect();
            let of_row = |&place: &i32| texts[place as usize].clone();
            list(py, column, places.iter().map(of_row))
        }
    }
}

/// A column as a list, None where the row has no value.
fn list<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    column: &Column,
    values: impl ExactSizeIterator<Item = T>,
) -> PyResult<Bound<'py, PyAny>> {
    let value = |(row, value)| (!column.is_null(row)).then_some(value);
    Ok(PyList::new(py, values.enumerate().map(value))?.into_any())
}

/// A column of integers as a view of its memory, in a format of the module `struct`.
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

/// The memory of one column, which lives as long as a view of it.
#[pyclass(frozen)]
struct Memory {
    columns: Arc<Columns>,
    place: usize,
}

#[pymethods]
impl Memory {
    /// # Safety
    /// Python gives a view to fill.
    unsafe fn __getbuffer__(
        memory: Bound<'_, Self>,
        buffer: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        const READ_ONLY: c_int = 1;
        let own = memory.get();
        let bytes = own.columns.all()[own.place].values.bytes();
        let first = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the bytes never change and live as long as `memory`, to which the buffer gets a
        // reference. Read-only buffers are refused to those who would write.
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

/// Adds the class.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()
}
