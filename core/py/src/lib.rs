//! The Python module `dfslab._core`. It only converts arguments, results and errors between Python
//! and the Rust crates.

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

/// Registers all functions, classes and exception types of the Python module.
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
