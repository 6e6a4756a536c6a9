//! Histograms of durations that can be merged exactly, and summaries of them in seconds.

mod histogram;
mod summary;

pub use histogram::Histogram;
pub use summary::Summary;
