//! Tests of the readers of trace files: every format, damaged and hostile files, and the fast
//! decoding of spans.

mod formats;
mod fuzz;
mod hostile;
mod layouts;
mod sources;
#[path = "../support/mod.rs"]
mod support;
