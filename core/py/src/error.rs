//! Converts the errors of the Rust crates to two Python exceptions, `InputError` and `RunError`.
//! Each has a message of one line.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    _core,
    InputError,
    PyException,
    "The input is wrong: key, value, what is allowed."
);
create_exception!(
    _core,
    RunError,
    PyException,
    "The run failed for a reason outside the input."
);

/// Converts an error of the load generator to a Python exception.
pub fn from_load(error: dfslab_load::Error) -> PyErr {
    match error.kind {
        dfslab_load::ErrorKind::Input => InputError::new_err(error.to_string()),
        _ => RunError::new_err(error.to_string()),
    }
}

/// Converts an error of reading or writing traces to a Python exception.
pub fn from_trace(error: dfslab_trace::TraceError) -> PyErr {
    match error.kind {
        dfslab_trace::ErrorKind::Input => InputError::new_err(error.to_string()),
        dfslab_trace::ErrorKind::Run => RunError::new_err(error.to_string()),
    }
}

/// Adds the two exception types to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())
}
