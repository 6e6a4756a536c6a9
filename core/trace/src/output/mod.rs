//! The forms in which traces and profiles are written: reports in JSON, folded stacks, pprof, call
//! trees on a time axis, and spans as OTLP.

pub(crate) mod pprof;
pub(crate) mod report;
pub(crate) mod timeline;
pub(crate) mod write;
