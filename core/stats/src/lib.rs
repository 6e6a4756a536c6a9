//! Mergeable log-linear histograms and summaries of durations.

mod histogram;
mod summary;

pub use histogram::Histogram;
pub use summary::Summary;
