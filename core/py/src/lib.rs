//! The Python bindings: conversions and the mapping of errors only.

mod arrow;
mod columns;
mod error;
mod link;
mod load;
mod net;
mod operations;
mod spans;
mod table;
mod trace;

use pyo3::prelude::*;

/// Registers all functions and exception types of the module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    link::register(module)?;
    load::register(module)?;
    net::register(module)?;
    table::register(module)?;
    operations::register(module)?;
    spans::register(module)?;
    trace::register(module)
}
