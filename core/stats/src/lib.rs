//! Mergeable histograms and summaries.
