//! Turns the spans of traces into call trees, compressed profiles and rankings.
//!
//! The data flows through the modules in this order:
//! - `ingest` reads trace files into a `SpanStore` (module `span`).
//! - `stream` takes complete traces from the store.
//! - `selection` drops and renames calls as the user requests.
//! - `tree` reconstructs the call trees. For spans in canonical form, one pass suffices
//!   (`tree::canonical`).
//! - `profile` compresses the trees (Liu et al. 2018, section 2.2), merges shards and ranks calls
//!   by time.
//! - `replay` estimates the gain from a faster step.
//! - `output` writes the results, and writes spans as trace files.

mod error;
mod ingest;
mod json_words;
mod output;
mod profile;
mod replay;
mod selection;
mod span;
mod stream;
mod tree;

pub use error::{ErrorKind, FilePosition, Result, TraceError};
pub use ingest::{read_bytes, read_file, InputFormat, Reader};
pub use output::pprof::pprof;
pub use output::report::{folded, Report, TreeNode};
pub use output::timeline::{timelines, Timeline, TimelineCall};
pub use output::write::{otlp_text, whole_trees, write_file, OutputFormat};
pub use profile::hosts::HostSums;
pub use profile::merged::{MergedCalls, MergedNode, OfHost};
pub use profile::rank::{Entry, Rankings, Reading, ReportOptions};
pub use profile::repeats::{Repeats, Times};
pub use profile::shards::{merge_parts, sharing, Part};
pub use profile::statistics::{Exemplar, Statistics};
pub use profile::{ProfileNode, SpanProfile};
pub use replay::{savings, savings_of_sample, Saving, SavingVerdict, Savings};
pub use selection::{CallChoice, LeftOut, Selection};
pub use span::identity::assign_trace_ids;
pub use span::losses::SpanLosses;
pub use span::sampling::weight_of;
pub use span::{Span, SpanStore, TextId, Texts, NAME_BYTES_MAX};
pub use stream::{SpanStream, TraceSummary, Window};
pub use tree::clocks::{clocks, AlignedClock};
pub use tree::{Forest, DEPTH_MAX};

use std::path::Path;

/// Reads trace files, whose spans may belong to the same traces, and compresses them into one
/// profile.
pub fn profile_files<P: AsRef<Path>>(paths: &[P], reading: &Reading) -> Result<SpanProfile> {
    // The sample of call trees is used to correct the clocks of hosts. If all traces are of one
    // host, no sample is needed. The profile shows whether there are several hosts. If the
    // selection drops calls, the profile cannot show this, since dropped calls are missing from the
    // profile.
    if can_be_read_again(paths) && !reading.selection.drops() {
        let stream = stream_of(Window::default(), reading).without_sample();
        let stream = read_through(stream, paths)?;
        if !stream.misses_sample() {
            return Ok(stream.into_profile());
        }
    }
    Ok(summarise_files(paths, Window::default(), reading)?.profile)
}

/// Reads trace files like `profile_files`, and also returns a sample of the call trees. At most
/// `window.spans` spans wait in memory for the other spans of their traces. If calls contradict
/// causality because the clocks of hosts differ, the clocks are corrected and the files are read
/// again.
pub fn summarise_files<P: AsRef<Path>>(
    paths: &[P],
    window: Window,
    reading: &Reading,
) -> Result<TraceSummary> {
    let mut summary = read_through(stream_of(window, reading), paths)?.finish();
    let clocks = clocks(&summary.sample);
    if can_be_read_again(paths) && clocks.iter().any(|clock| clock.ahead_ns != 0) {
        let mut second = stream_of(window, reading);
        second.align(&clocks);
        summary = read_through(second, paths)?.finish();
    }
    summary.clocks = clocks;
    Ok(summary)
}

fn can_be_read_again<P: AsRef<Path>>(paths: &[P]) -> bool {
    paths.iter().all(|path| path.as_ref().is_file())
}

fn stream_of(window: Window, reading: &Reading) -> SpanStream {
    let mut stream = SpanStream::new(window);
    stream.assume_sampled(reading.sampled);
    stream.assume_format(reading.format);
    stream.select(reading.selection.clone());
    stream
}

/// Reads all files into `stream` and returns it. An empty list of files is an error.
fn read_through<P: AsRef<Path>>(mut stream: SpanStream, paths: &[P]) -> Result<SpanStream> {
    if paths.is_empty() {
        let nothing = Path::new("(no file given)");
        let reason = "at least one file is needed";
        return Err(TraceError::input(nothing, FilePosition::Whole, reason));
    }
    stream.read_files(paths)?;
    stream.merge_all();
    Ok(stream)
}
