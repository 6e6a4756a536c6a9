//! Passes the columns of a table to other libraries through the Arrow C data interface, without
//! copying their values.
//!
//! The specification defines the layouts of the structures `ArrowSchema`, `ArrowArray` and
//! `ArrowArrayStream`, and what their function `release` must do:
//! <https://arrow.apache.org/docs/format/CDataInterface.html> and `CStreamInterface.html`. A
//! structure is passed to a consumer in a Python capsule. If the consumer leaves the structure
//! there, the capsule calls `release`. If the consumer moves the structure out, the consumer sets
//! `release` of the original to null and calls `release` of its copy itself. Each such call of
//! `release` frees everything that the structure owns.
//!
//! The unsafe code is sound for three reasons. First, every pointer leads either into columns or
//! into the `Parts` that `private_data` owns. The columns never change, and the `Parts` keep them
//! alive by a reference count. Second, only `release` frees the `Parts`. The function then sets the
//! field `release` to null, so it is called once. Third, no `release` calls Python, so any thread
//! may call it.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::columns::{Column, Columns, Dictionary, Values};

const NULLABLE: i64 = 2;

/// The structure `ArrowSchema` of the Arrow C data interface. The structure describes the type of
/// one column or of the whole table. The type of a table is a struct with one field for each
/// column.
#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The structure `ArrowArray` of the Arrow C data interface. The structure has the values of one
/// column or of the whole table. The array of a table is a struct with one field for each column.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// The structure `ArrowArrayStream` of the Arrow C stream interface, which yields arrays one after
/// the other. A stream of this module has exactly one array: the whole table.
#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: the pointers of a schema lead to data that the schema owns. This data never changes and
// is `Send`.
unsafe impl Send for ArrowSchema {}
// SAFETY: the pointers of an array lead to data that the array owns or shares by reference count.
// This data never changes and is `Send`.
unsafe impl Send for ArrowArray {}
// SAFETY: the pointer of a stream leads to data that the stream owns and that is `Send`.
unsafe impl Send for ArrowArrayStream {}

/// The memory that an `ArrowSchema` or an `ArrowArray` (the type `T`) owns: its children, its
/// dictionary, the list of its buffers, and a reference to the columns.
struct Parts<T> {
    children: Vec<*mut T>,
    dictionary: *mut T,
    buffers: Vec<*const c_void>,
    /// A reference that keeps alive the columns to which the buffers point. This field is never
    /// read.
    columns: Option<Arc<Columns>>,
}

impl<T> Parts<T> {
    fn new(children: Vec<T>, dictionary: Option<T>) -> Self {
        let owned = |one| Box::into_raw(Box::new(one));
        Parts {
            children: children.into_iter().map(owned).collect(),
            dictionary: dictionary.map_or(null_mut(), owned),
            buffers: Vec::new(),
            columns: None,
        }
    }
}

impl<T> Drop for Parts<T> {
    fn drop(&mut self) {
        for &one in self.children.iter().chain([&self.dictionary]) {
            if !one.is_null() {
                // SAFETY: `new` made the pointer from a box, and only this code frees it. If a
                // consumer moved the child out, it has set the child's `release` to null. The
                // `drop` of the child checks this.
                drop(unsafe { Box::from_raw(one) });
            }
        }
    }
}

/// Defines two things for one of the structures: its function `release`, and its implementation of
/// `Drop`. `drop` calls `release` if no consumer moved the structure out of its capsule.
macro_rules! released {
    ($structure:ty, $parts:ty, $release:ident) => {
        /// Frees what the structure owns and sets its `release` to null, which marks it as
        /// released.
        unsafe extern "C" fn $release(structure: *mut $structure) {
            // SAFETY: the caller passes a valid structure that was not released. Its `private_data`
            // is a pointer from `Box::into_raw`, which only this function frees.
            unsafe {
                drop(Box::from_raw((*structure).private_data.cast::<$parts>()));
                (*structure).private_data = null_mut();
                (*structure).release = None;
            }
        }

        impl Drop for $structure {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the structure is valid and was neither released nor moved out.
                    unsafe { release(self) }
                }
            }
        }
    };
}

released!(ArrowSchema, Parts<ArrowSchema>, release_schema);
released!(ArrowArray, Parts<ArrowArray>, release_array);
released!(ArrowArrayStream, Stream, release_stream);

fn schema(format: &'static CStr, name: &'static CStr, nullable: bool) -> ArrowSchema {
    schema_of_parts(format, name, nullable, Parts::new(Vec::new(), None))
}

fn schema_of_parts(
    format: &'static CStr,
    name: &'static CStr,
    nullable: bool,
    parts: Parts<ArrowSchema>,
) -> ArrowSchema {
    let parts = Box::into_raw(Box::new(parts));
    // SAFETY: the box was just made. Its vector stays at its address until `release_schema`.
    let owned = unsafe { &mut *parts };
    ArrowSchema {
        format: format.as_ptr(),
        name: name.as_ptr(),
        metadata: null(),
        flags: if nullable { NULLABLE } else { 0 },
        n_children: owned.children.len() as i64,
        children: owned.children.as_mut_ptr(),
        dictionary: owned.dictionary,
        release: Some(release_schema),
        private_data: parts.cast(),
    }
}

fn schema_of_column(column: &Column) -> ArrowSchema {
    let nullable = column.validity.is_some();
    let format = match &column.values {
        Values::U32(_) => c"I",
        Values::U64(_) => c"L",
        Values::Bits(_) => c"b",
        Values::Ids(_) => c"w:16",
        Values::Texts(..) => {
            let parts = Parts::new(Vec::new(), Some(schema(c"u", c"", false)));
            return schema_of_parts(c"i", column.name, nullable, parts);
        }
    };
    schema(format, column.name, nullable)
}

fn schema_of(columns: &Columns) -> ArrowSchema {
    let children = columns.all().iter().map(schema_of_column).collect();
    schema_of_parts(c"+s", c"", false, Parts::new(children, None))
}

fn array(
    columns: &Arc<Columns>,
    (length, null_count): (usize, usize),
    buffers: Vec<*const c_void>,
    mut parts: Parts<ArrowArray>,
) -> ArrowArray {
    parts.buffers = buffers;
    parts.columns = Some(Arc::clone(columns));
    let parts = Box::into_raw(Box::new(parts));
    // SAFETY: the box was just made. Its vectors stay at their addresses until `release_array`.
    let owned = unsafe { &mut *parts };
    ArrowArray {
        length: length as i64,
        null_count: null_count as i64,
        offset: 0,
        n_buffers: owned.buffers.len() as i64,
        n_children: owned.children.len() as i64,
        buffers: owned.buffers.as_mut_ptr(),
        children: owned.children.as_mut_ptr(),
        dictionary: owned.dictionary,
        release: Some(release_array),
        private_data: parts.cast(),
    }
}

fn array_of_dictionary(columns: &Arc<Columns>, dictionary: &Dictionary) -> ArrowArray {
    let buffers = vec![
        null(),
        dictionary.offsets.as_ptr().cast(),
        dictionary.bytes.as_ptr().cast(),
    ];
    let counts = (dictionary.count(), 0);
    array(columns, counts, buffers, Parts::new(Vec::new(), None))
}

fn array_of_column(columns: &Arc<Columns>, column: &Column) -> ArrowArray {
    let validity = column.validity.as_ref();
    let dictionary = match &column.values {
        Values::Texts(_, dictionary) => Some(array_of_dictionary(columns, dictionary)),
        _ => None,
    };
    let buffers = vec![
        validity.map_or(null(), |validity| validity.bits.as_ptr().cast()),
        column.values.bytes().as_ptr().cast(),
    ];
    let counts = (
        columns.rows(),
        validity.map_or(0, |validity| validity.nulls),
    );
    array(columns, counts, buffers, Parts::new(Vec::new(), dictionary))
}

fn array_of(columns: &Arc<Columns>) -> ArrowArray {
    let of_column = |column| array_of_column(columns, column);
    let children = columns.all().iter().map(of_column).collect();
    let parts = Parts::new(children, None);
    array(columns, (columns.rows(), 0), vec![null()], parts)
}

/// The state of a stream: the columns of the table, and whether the consumer has already received
/// the stream's only array.
struct Stream {
    columns: Arc<Columns>,
    given: bool,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller passes a stream that was not released, and memory for a schema. The
    // content of this memory is overwritten without being dropped, as the interface requires.
    unsafe {
        let state = &*(*stream).private_data.cast::<Stream>();
        out.write(schema_of(&state.columns));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the caller passes a stream that was not released and that no other thread uses
    // meanwhile. The caller also passes memory for an array, whose content is overwritten without
    // being dropped. An array of zeroes marks the end of the stream; zero is a valid value of all
    // its fields.
    unsafe {
        let state = &mut *(*stream).private_data.cast::<Stream>();
        if state.given {
            out.write(std::mem::zeroed());
        } else {
            out.write(array_of(&state.columns));
        }
        state.given = true;
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    null()
}

/// Returns the Python capsule "arrow_schema" with the types of the columns.
pub fn schema_capsule<'py>(
    py: Python<'py>,
    columns: &Arc<Columns>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, schema_of(columns), c"arrow_schema")
}

/// Returns the Python capsule "arrow_array" with the values of the columns.
pub fn array_capsule<'py>(
    py: Python<'py>,
    columns: &Arc<Columns>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, array_of(columns), c"arrow_array")
}

/// Returns the Python capsule "arrow_array_stream": a stream of one array with the values of the
/// columns.
pub fn stream_capsule<'py>(
    py: Python<'py>,
    columns: &Arc<Columns>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let columns = Arc::clone(columns);
    let given = false;
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(Stream { columns, given })).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
