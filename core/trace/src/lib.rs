//! Turns the spans of traces into call trees, compressed profiles and rankings.
//!
//! The data flows through the modules in this order. `ingest` reads trace files into a `SpanStore`.
//! `stream` takes complete traces from it. `tree` reconstructs their call trees, or `tidy`, which
//! needs only one pass, if the spans are in canonical form. `profile` compresses the trees (Liu et
//! al. 2018, section 2.2). `rank` ranks calls by their time, and `replay` estimates the gain from a
//! faster step. `report` and `pprof` write the results. `write` writes trace files.

mod attempts;
mod clocks;
mod error;
mod hosts;
mod identity;
mod ingest;
mod losses;
mod parts;
mod pattern;
mod pprof;
mod profile;
mod rank;
mod repeats;
mod replay;
mod report;
mod sampling;
mod selection;
mod shape;
mod span;
mod statistics;
mod stream;
mod tidy;
mod timeline;
mod tree;
mod write;

pub use clocks::{clocks, AlignedClock};
pub use error::{ErrorKind, Place, Result, TraceError};
pub use hosts::Share;
pub use identity::assign_trace_ids;
pub use ingest::{read_bytes, read_file, InputFormat, Reader};
pub use losses::Losses;
pub use parts::{sharing, together, Part};
pub use pprof::pprof;
pub use profile::{Node, Profile};
pub use rank::{rank, Entry, Options, Rankings, Reading};
pub use repeats::{Repeats, Times};
pub use replay::{savings, savings_of_sample, Saving, Savings};
pub use report::{folded, OfHost, Report, TreeNode};
pub use sampling::weight_of;
pub use selection::{Choice, LeftOut, Selection};
pub use span::{Span, SpanStore, TextId, Texts, NAME_BYTES_MAX};
pub use statistics::{Exemplar, Statistics};
pub use stream::{Stream, Summary, Window};
pub use timeline::{timelines, Timeline, TimelineCall};
pub use tree::{Forest, DEPTH_MAX};
pub use write::{otlp_text, whole_trees, write_file, OutputFormat};

use std::path::Path;

/// Reads trace files, whose spans may belong to the same traces, and compresses them into one
/// profile.
pub fn profile_files<P: AsRef<Path>>(paths: &[P], reading: &Reading) -> Result<Profile> {
    // A first pass without a sample suffices for traces of one host. It cannot show this if the
    // selection drops calls, since dropped calls are missing from the profile.
    if can_be_read_again(paths) && !reading.selection.drops() {
        let stream = stream_of(Window::default(), reading).without_sample();
        let stream = read_through(stream, paths)?;
        if !stream.misses_sample() {
            return Ok(stream.into_profile());
        }
    }
    Ok(summarise_files(paths, Window::default(), reading)?.profile)
}

/// Reads trace files like `profile_files`, and also returns a sample of the call trees. Memory is
/// bounded by `window`. If the clocks of hosts contradict causality, the files are read again with
/// corrected clocks.
pub fn summarise_files<P: AsRef<Path>>(
    paths: &[P],
    window: Window,
    reading: &Reading,
) -> Result<Summary> {
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

fn stream_of(window: Window, reading: &Reading) -> Stream {
    let mut stream = Stream::new(window);
    stream.assume_sampled(reading.sampled);
    stream.assume_format(reading.format);
    stream.select(reading.selection.clone());
    stream
}

/// Reads all files into `stream` and returns it. An empty list of files is an error.
fn read_through<P: AsRef<Path>>(mut stream: Stream, paths: &[P]) -> Result<Stream> {
    if paths.is_empty() {
        let nothing = Path::new("(no file given)");
        let reason = "at least one file is needed";
        return Err(TraceError::input(nothing, Place::Whole, reason));
    }
    stream.read_files(paths)?;
    stream.merge_all();
    Ok(stream)
}
