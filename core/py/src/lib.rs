//! The Python bindings: conversions and the mapping of errors only.

mod error;
mod link;
mod load;
mod net;
mod trace;

use pyo3::prelude::*;

/// Registers all functions and exception types of the module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    link::register(module)?;
    load::register(module)?;
    net::register(module)?;
    trace::register(module)
}
