//! Processes traces of any size in bounded memory. Spans wait in a window until their trace is
//! complete.
//!
//! A trace counts as complete when none of the latest `Window::quiet` spans belonged to it. The
//! trace is then merged into the profile, and only its id is remembered. If further spans of this
//! trace arrive, they are counted exactly, but form a separate tree. `SpanLosses` has the number of
//! such spans.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use crate::error::Result;
use crate::ingest::{InputFormat, Reader};
use crate::profile::SpanProfile;
use crate::replay::TraceSample;
use crate::selection::{add_left_out, Selection};
use crate::span::losses::SpanLosses;
use crate::span::sampling::weight_of;
use crate::span::{Span, SpanStore, TextId};
use crate::tree::clocks::AlignedClock;
use crate::tree::shape::{mix, Mixing};
use crate::tree::Forest;

/// How many spans are held in memory at a time, and when a trace counts as complete.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Maximum number of spans that wait in memory.
    pub spans: usize,
    /// A trace counts as complete when none of the latest `quiet` spans belonged to it.
    pub quiet: usize,
}

impl Default for Window {
    fn default() -> Self {
        Window {
            spans: 1 << 18,
            quiet: 1 << 16,
        }
    }
}

/// Approximate number of spans in a batch. A batch consists of complete traces that are processed
/// in one pass. A batch fits into a processor cache.
const PORTION_SPANS: usize = 1 << 9;

/// Largest number of trace ids in each of the two sets of `Merged`. The ids of the latest merged
/// traces are remembered: at least this number of ids, and at most twice this number.
const REMEMBERED: usize = 1 << 18;

/// Reads spans and accumulates them into a profile.
#[derive(Default)]
pub struct SpanStream {
    window: Window,
    store: SpanStore,
    /// The traces of the spans that wait in the store, without the spans that arrived since the
    /// last merge.
    traces: Traces,
    profile: SpanProfile,
    /// The random sample of complete traces. None if only the profile is requested; then clock
    /// offsets are not estimated.
    sample: Option<TraceSample>,
    merged: Merged,
    /// Reused memory in which the call trees of each batch are reconstructed.
    forest: Forest,
    /// For each host, the time by which its clock is ahead of the clock of the reference host, ns.
    ahead_ns: HashMap<TextId, i64, Mixing>,
    selection: Selection,
    /// Format of the files. If it is None, the format of each file is recognised by content.
    format: Option<InputFormat>,
    arrived: u64,
    arrived_before: u64,
}

/// The result of reading trace files.
pub struct TraceSummary {
    /// The compressed profile of all spans that were read.
    pub profile: SpanProfile,
    /// A random sample of complete call trees, for analyses that need spans. If all trees fit into
    /// the sample, it has all of them. The user's selection is not applied to the sample.
    pub sample: Forest,
    /// Number of call trees of the profile that are not in the sample.
    pub trees_left_out: u64,
    /// Clock offsets of the hosts. Empty if no calls between hosts determine them. If the files can
    /// be read twice, `summarise_files` corrects the times of the spans by these offsets.
    pub clocks: Vec<AlignedClock>,
}

impl SpanStream {
    /// Creates a stream without spans.
    ///
    /// # Panics
    ///
    /// If `window.spans` is not larger than `window.quiet`.
    pub fn new(window: Window) -> Self {
        assert!(
            window.quiet < window.spans,
            "a window must hold more than its quiet part"
        );
        SpanStream {
            window,
            sample: Some(TraceSample::default()),
            ..SpanStream::default()
        }
    }

    /// Stops keeping a sample, so that only the profile is available.
    pub(crate) fn without_sample(mut self) -> Self {
        self.sample = None;
        self
    }

    /// Whether a sample is needed but none is kept. Only a sample shows whether the clocks of hosts
    /// disagree. A sample is therefore needed if there are spans of several hosts.
    pub(crate) fn misses_sample(&self) -> bool {
        self.sample.is_none() && self.profile.has_several_hosts()
    }

    /// Reads files whose spans may belong to the same traces. The files are read in turn, so that
    /// the spans of one trace are read at about the same time. For each file, the latest start of a
    /// span so far is known; the next spans are always read from the file for which this time is
    /// the earliest. Stops early if a sample becomes needed but none is kept.
    pub fn read_files<P: AsRef<Path>>(&mut self, paths: &[P]) -> Result<()> {
        let open = |path: &P| Ok((0, Reader::open(path.as_ref(), self.format)?));
        let mut readers: Vec<(u64, Reader)> = paths.iter().map(open).collect::<Result<_>>()?;
        let step = if readers.len() == 1 {
            self.window.spans
        } else {
            self.window.quiet / 8
        };
        while let Some(at) = (0..readers.len()).min_by_key(|&at| readers[at].0) {
            let before = self.store.spans.len();
            let room = (before + step.max(1)).min(self.window.spans);
            let more = readers[at].1.advance(&mut self.store, room)?;
            if readers.len() > 1 {
                let starts = self.store.spans[before..].iter().map(|span| span.start_ns);
                readers[at].0 = readers[at].0.max(starts.max().unwrap_or(0));
            }
            self.make_room();
            if self.misses_sample() {
                break;
            }
            if !more {
                drop(readers.swap_remove(at));
            }
        }
        Ok(())
    }

    /// Reads the spans of a message that is not a file, such as a network message. `name`
    /// identifies the message in errors.
    pub fn read(&mut self, name: &Path, input: impl Read + Send) -> Result<()> {
        let mut reader = Reader::new(name, input)?;
        loop {
            let before = self.store.spans.len();
            let outcome = reader.advance(&mut self.store, self.window.spans);
            self.arrived += (self.store.spans.len() - before) as u64;
            self.make_room();
            if !outcome? {
                return Ok(());
            }
        }
    }

    /// Merges into the profile every waiting trace that received no spans since the last call of
    /// this function.
    pub fn merge_quiet(&mut self) {
        let since = self.arrived - self.arrived_before;
        self.arrived_before = self.arrived;
        self.merge(usize::try_from(since).unwrap_or(usize::MAX));
    }

    /// Returns the profile of all merged traces. Traces that still wait are not included.
    pub fn snapshot(&self) -> SpanProfile {
        let mut profile = self.profile.clone();
        profile.losses.merge(&self.store.losses);
        profile.know(self.store.texts.clone());
        profile
    }

    /// Number of spans that wait in memory until their traces are complete.
    pub fn waiting(&self) -> usize {
        self.store.spans.len()
    }

    /// Merges every waiting trace into the profile, complete or not.
    pub fn merge_all(&mut self) {
        self.merge(0);
    }

    /// Ends the stream and returns its profile only.
    pub fn into_profile(mut self) -> SpanProfile {
        self.merge_all();
        let mut profile = self.profile;
        profile.losses.merge(&self.store.losses);
        profile.know(self.store.texts);
        profile
    }

    /// Ends the stream and returns the profile and the sample. The list of clock offsets in the
    /// result is empty.
    pub fn finish(mut self) -> TraceSummary {
        self.merge_all();
        let sample = self.sample.take().unwrap_or_default();
        let sample = sample.forest(&self.store.texts);
        let replayed = self.selection.trees_of(&sample);
        let profile = self.into_profile();
        let trees_left_out = profile.trees.saturating_sub(replayed);
        TraceSummary {
            profile,
            sample,
            trees_left_out,
            clocks: Vec::new(),
        }
    }

    /// Sets the sampling probability of calls whose recorder did not record one.
    ///
    /// # Panics
    ///
    /// If the probability is not in (0, 1], or if it is too small for a sampling weight
    /// (`weight_of`).
    pub fn assume_sampled(&mut self, probability: f64) {
        let weight = weight_of(probability).expect("a probability");
        self.store.texts.assume_weight(weight);
    }

    /// Sets the format in which files are read. If `format` is None, the format of each file is
    /// recognised by content.
    pub fn assume_format(&mut self, format: Option<InputFormat>) {
        self.format = format;
    }

    /// Sets the user's selection of calls, which applies to all traces merged later.
    pub fn select(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// Corrects the clocks of hosts in all traces that are merged from now on. For each host in
    /// `clocks`, the starts and ends of its spans become earlier by the time by which its clock is
    /// ahead.
    pub fn align(&mut self, clocks: &[AlignedClock]) {
        let wrong = clocks.iter().filter(|clock| clock.ahead_ns != 0);
        self.ahead_ns = wrong
            .map(|clock| (self.store.intern(&clock.host), clock.ahead_ns))
            .collect();
    }

    fn make_room(&mut self) {
        if self.store.spans.len() < self.window.spans {
            return;
        }
        self.merge(self.window.quiet);
    }

    /// Merges the waiting traces to which none of the latest `quiet` spans belongs.
    fn merge(&mut self, quiet: usize) {
        let spans = std::mem::take(&mut self.store.spans);
        let mut traces = std::mem::take(&mut self.traces);
        traces.note(&spans[traces.spans..]);
        let stay_max = self.window.spans / 2;
        self.store.losses.cut_traces += traces.choose(quiet, stay_max);
        for trace in traces
            .whole_runs()
            .chunk_by(|left, right| left.slot == right.slot)
        {
            self.take_whole(&spans, trace);
        }
        self.recover();
        self.store.spans = spans;
        self.traces = traces.drop_whole(&mut self.store.spans);
    }

    /// Adds the spans of a complete trace to the batch. Merges the batch when it is large enough.
    fn take_whole(&mut self, spans: &[Span], runs: &[Run]) {
        let portion = &mut self.forest.spans;
        let first = portion.len();
        for run in runs {
            portion.extend_from_slice(&spans[run.first..run.first + run.spans]);
        }
        let trace = &mut portion[first..];
        set_back(trace, &self.ahead_ns);
        self.selection.rename(trace, &mut self.store);
        if self.merged.knows(trace[0].trace_id) {
            self.store.losses.late_spans += trace.len() as u64;
        }
        if let Some(sample) = &mut self.sample {
            sample.offer(trace);
        }
        if portion.len() >= PORTION_SPANS {
            self.recover();
        }
    }

    /// Reconstructs the call trees of the batch, merges them into the profile and empties the
    /// batch.
    fn recover(&mut self) {
        if self.forest.spans.is_empty() {
            return;
        }
        self.forest.untangle(&self.store.texts, true);
        let left_out = self.selection.apply(&mut self.forest, &self.store.texts);
        add_left_out(&mut self.profile.left_out, &left_out);
        self.profile.record(&self.forest, &self.store.texts);
        self.forest.spans.clear();
        self.forest.losses = SpanLosses::default();
    }
}

fn set_back(spans: &mut [Span], ahead_ns: &HashMap<TextId, i64, Mixing>) {
    if ahead_ns.is_empty() {
        return;
    }
    for span in spans {
        if let Some(ahead) = ahead_ns.get(&span.host) {
            span.start_ns = span.start_ns.saturating_add_signed(ahead.saturating_neg());
            span.end_ns = span.end_ns.saturating_add_signed(ahead.saturating_neg());
        }
    }
}

/// A range of consecutive spans in the window that belong to one trace.
#[derive(Clone, Copy, Default)]
struct Run {
    slot: u32,
    first: usize,
    spans: usize,
}

/// A trace that waits in the window.
struct Held {
    trace_id: u128,
    spans: usize,
    runs: usize,
    /// Position of the latest span of the trace in the window.
    latest: usize,
    whole: bool,
}

/// The trace of each span in the window. Consecutive spans mostly belong to one trace, so the trace
/// is stored once for each run of such spans.
#[derive(Default)]
struct Traces {
    /// A map from each trace id to the index of that trace in `held`.
    slots: HashMap<u128, u32, Mixing>,
    held: Vec<Held>,
    runs: Vec<Run>,
    /// Total number of spans in all runs.
    spans: usize,
}

impl Traces {
    /// Adds the spans that arrived since the last call of this function.
    fn note(&mut self, spans: &[Span]) {
        for run in spans.chunk_by(|left, right| left.trace_id == right.trace_id) {
            self.add(run[0].trace_id, run.len());
        }
    }

    fn add(&mut self, trace_id: u128, spans: usize) {
        let next = self.held.len() as u32;
        let slot = *self.slots.entry(trace_id).or_insert(next);
        if slot == next {
            self.held.push(Held {
                trace_id,
                spans: 0,
                runs: 0,
                latest: 0,
                whole: false,
            });
        }
        let first = self.spans;
        self.spans += spans;
        let held = &mut self.held[slot as usize];
        held.spans += spans;
        held.runs += 1;
        held.latest = self.spans - 1;
        self.runs.push(Run { slot, first, spans });
    }

    /// Marks traces as complete. First, marks each trace to which none of the latest `quiet` spans
    /// belongs. If more than `stay_max` spans would still wait, then also marks the largest of the
    /// other traces until few enough spans wait. Returns the number of the traces that were marked
    /// only because of their size.
    fn choose(&mut self, quiet: usize, stay_max: usize) -> u64 {
        let mut stay = 0;
        for held in &mut self.held {
            held.whole = held.latest.saturating_add(quiet) < self.spans;
            stay += if held.whole { 0 } else { held.spans };
        }
        if stay <= stay_max {
            return 0;
        }
        let mut left: Vec<&mut Held> = self.held.iter_mut().filter(|held| !held.whole).collect();
        left.sort_by_key(|held| usize::MAX - held.spans);
        let mut cut = 0;
        for held in left {
            if stay <= stay_max {
                break;
            }
            held.whole = true;
            stay -= held.spans;
            cut += 1;
        }
        cut
    }

    /// Returns the runs (ranges of spans) of all complete traces, trace by trace.
    fn whole_runs(&self) -> Vec<Run> {
        let mut free = Vec::with_capacity(self.held.len());
        let mut end = 0;
        for held in &self.held {
            free.push(end);
            end += if held.whole { held.runs } else { 0 };
        }
        let mut found = vec![Run::default(); end];
        for run in &self.runs {
            if self.held[run.slot as usize].whole {
                let place = &mut free[run.slot as usize];
                found[*place] = *run;
                *place += 1;
            }
        }
        found
    }

    /// Removes the spans of complete traces from `spans`. Returns the runs (ranges of spans) of the
    /// traces that remain.
    fn drop_whole(self, spans: &mut Vec<Span>) -> Traces {
        let mut left = Traces::default();
        for run in &self.runs {
            let held = &self.held[run.slot as usize];
            if !held.whole {
                spans.copy_within(run.first..run.first + run.spans, left.spans);
                left.add(held.trace_id, run.spans);
            }
        }
        spans.truncate(left.spans);
        left
    }
}

/// Ids of merged traces, in two sets. When the younger set is full, it becomes the older set, the
/// previous older set is dropped, and an empty younger set is begun.
#[derive(Default)]
struct Merged {
    older: HashSet<u64, Mixing>,
    newer: HashSet<u64, Mixing>,
}

impl Merged {
    /// Returns whether the trace was merged before, and remembers it as merged.
    fn knows(&mut self, trace_id: u128) -> bool {
        let digest = mix(trace_id as u64 ^ mix((trace_id >> 64) as u64));
        if self.newer.len() >= REMEMBERED {
            self.older = std::mem::take(&mut self.newer);
        }
        !self.newer.insert(digest) || self.older.contains(&digest)
    }
}
