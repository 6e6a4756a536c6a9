//! Traces of any size through bounded memory: spans wait in a window until their trace is whole.
//!
//! A trace counts as whole when none of the latest spans belonged to it; it is then merged into
//! the profile and forgotten but for its identity. What comes later is still counted, to the
//! nanosecond, but hangs apart: `Losses` says how much that was.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use crate::clocks::Clock;
use crate::error::Result;
use crate::ingest::{InputFormat, Reader};
use crate::losses::Losses;
use crate::profile::Profile;
use crate::replay::Sample;
use crate::sampling::weight_of;
use crate::selection::{add_left_out, Selection};
use crate::shape::{mix, Mixing};
use crate::span::{Span, SpanStore, TextId};
use crate::tree::Forest;

/// How much is held in memory at a time.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Spans held before whole traces are merged.
    pub spans: usize,
    /// A trace is whole when none of so many latest spans belonged to it.
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

/// Whole traces are recovered together in portions of about so many spans, which fit a cache.
const PORTION_SPANS: usize = 1 << 13;

/// Identities of merged traces are remembered for this many to twice as many traces.
const REMEMBERED: usize = 1 << 18;

/// Spans on their way into a profile.
#[derive(Default)]
pub struct Stream {
    window: Window,
    store: SpanStore,
    profile: Profile,
    sample: Sample,
    merged: Merged,
    /// Where portions are recovered, one after the other in the same memory.
    forest: Forest,
    /// How far the clocks of hosts are ahead, nanoseconds.
    ahead_ns: Vec<(TextId, i64)>,
    selection: Selection,
    /// What the files are, if their contents are not to say.
    format: Option<InputFormat>,
    arrived: u64,
    arrived_before: u64,
}

/// What is left of a stream at its end.
pub struct Summary {
    /// Everything, compressed.
    pub profile: Profile,
    /// Some whole trees by lot, or all if there are few, for questions that need the spans.
    /// No call is left out of it.
    pub sample: Forest,
    /// Trees that are not in the sample.
    pub trees_left_out: u64,
    /// The hosts' clocks, as far as calls between them tell; the spans are moved accordingly.
    pub clocks: Vec<Clock>,
}

impl Summary {
    /// The summary, if a user's choice leaves any call in it.
    ///
    /// # Errors
    /// One line that says how many were left out.
    pub fn some_kept(self) -> std::result::Result<Self, String> {
        if self.profile.spans > 0 || self.profile.left_out.is_empty() {
            return Ok(self);
        }
        let calls: u64 = self.profile.left_out.values().map(|one| one.calls).sum();
        Err(format!("no call is kept: all {calls} are left out"))
    }
}

impl Stream {
    /// An empty stream.
    ///
    /// # Panics
    /// Unless the window is larger than its quiet part.
    pub fn new(window: Window) -> Self {
        assert!(
            window.quiet < window.spans,
            "a window must hold more than its quiet part"
        );
        Stream {
            window,
            ..Stream::default()
        }
    }

    /// Reads files that may share traces, always going on with the one that is furthest behind.
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
            let latest = self.store.spans[before..]
                .iter()
                .map(|span| span.start_ns)
                .max();
            readers[at].0 = readers[at].0.max(latest.unwrap_or(0));
            self.make_room();
            if !more {
                drop(readers.swap_remove(at));
            }
        }
        Ok(())
    }

    /// Takes one message that is not a file; `name` is what errors call it.
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

    /// Merges the traces of which nothing has come since this was last called.
    pub fn merge_quiet(&mut self) {
        let since = self.arrived - self.arrived_before;
        self.arrived_before = self.arrived;
        self.merge(usize::try_from(since).unwrap_or(usize::MAX));
    }

    /// What has been merged so far; traces that may still grow are not in it.
    pub fn snapshot(&self) -> Profile {
        let mut profile = self.profile.clone();
        profile.losses.merge(&self.store.losses);
        profile.know(self.store.texts.clone());
        profile
    }

    /// Spans that wait for the rest of their traces.
    pub fn waiting(&self) -> usize {
        self.store.spans.len()
    }

    /// Merges every trace, whole or not, as if nothing more would come.
    pub fn merge_all(&mut self) {
        self.merge(0);
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Summary {
        self.merge_all();
        let sample = self.sample.forest(&self.store.texts);
        let mut profile = self.profile;
        profile.losses.merge(&self.store.losses);
        profile.know(self.store.texts);
        let replayed = self.selection.trees_of(&sample);
        let trees_left_out = profile.trees.saturating_sub(replayed);
        Summary {
            profile,
            sample,
            trees_left_out,
            clocks: Vec::new(),
        }
    }

    /// Calls that do not tell with what probability they were kept were kept with this one.
    ///
    /// # Panics
    /// Unless it is above 0 and at most 1.
    pub fn assume_sampled(&mut self, probability: f64) {
        let weight = weight_of(probability).expect("a probability");
        self.store.texts.assume_weight(weight);
    }

    /// Files are read as this, whatever they look like.
    pub fn assume_format(&mut self, format: Option<InputFormat>) {
        self.format = format;
    }

    /// From now on only these calls are kept, under these names.
    pub fn select(&mut self, selection: Selection) {
        self.selection = selection;
    }

    /// From now on the spans of these hosts are moved back by what their clocks are ahead.
    pub fn align(&mut self, clocks: &[Clock]) {
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

    /// Merges the traces that none of the latest `quiet` spans belongs to.
    fn merge(&mut self, quiet: usize) {
        let mut spans = std::mem::take(&mut self.store.spans);
        let mut traces = Traces::of(&spans);
        traces.choose(
            quiet,
            spans.len(),
            self.window.spans / 2,
            &mut self.store.losses.cut_traces,
        );
        let starts = traces.starts();
        let mut free = starts.clone();
        let mut order = vec![0u32; *starts.last().expect("an end")];
        for (index, &slot) in (0u32..).zip(&traces.slots) {
            let slot = slot as usize;
            if traces.whole[slot] {
                order[free[slot]] = index;
                free[slot] += 1;
            }
        }
        for slot in 0..traces.whole.len() {
            let members = &order[starts[slot]..starts[slot + 1]];
            if members.is_empty() {
                continue;
            }
            let portion = &mut self.forest.spans;
            let first = portion.len();
            portion.extend(members.iter().map(|&index| spans[index as usize]));
            set_back(&mut portion[first..], &self.ahead_ns);
            self.selection
                .rename(&mut portion[first..], &mut self.store);
            if self.merged.knows(portion[first].trace_id) {
                self.store.losses.late_spans += members.len() as u64;
            }
            self.sample.offer(&portion[first..]);
            if portion.len() >= PORTION_SPANS {
                self.recover();
            }
        }
        self.recover();
        let mut slots = traces.slots.iter();
        spans.retain(|_| !traces.whole[*slots.next().expect("a slot each") as usize]);
        self.store.spans = spans;
    }

    /// Merges the portion that lies in the forest, which is empty again afterwards.
    fn recover(&mut self) {
        if self.forest.spans.is_empty() {
            return;
        }
        self.forest.untangle(&self.store.texts, true);
        let left_out = self.selection.apply(&mut self.forest, &self.store.texts);
        add_left_out(&mut self.profile.left_out, &left_out);
        self.profile.record(&self.forest, &self.store.texts);
        self.forest.spans.clear();
        self.forest.losses = Losses::default();
    }
}

fn set_back(spans: &mut [Span], ahead_ns: &[(TextId, i64)]) {
    if ahead_ns.is_empty() {
        return;
    }
    for span in spans {
        if let Some((_, ahead)) = ahead_ns.iter().find(|(host, _)| *host == span.host) {
            span.start_ns = span.start_ns.saturating_add_signed(ahead.saturating_neg());
            span.end_ns = span.end_ns.saturating_add_signed(ahead.saturating_neg());
        }
    }
}

/// Which trace each span in the window belongs to, and which traces are whole.
struct Traces {
    /// Each span's trace, numbered in the order of arrival.
    slots: Vec<u32>,
    /// Each trace's spans, and its latest.
    sizes: Vec<(u32, u32)>,
    whole: Vec<bool>,
}

impl Traces {
    fn of(spans: &[Span]) -> Self {
        let mut known: HashMap<u128, u32, Mixing> = HashMap::default();
        let mut slots = Vec::with_capacity(spans.len());
        let mut sizes: Vec<(u32, u32)> = Vec::new();
        let mut latest = (0, 0);
        for (index, span) in (0u32..).zip(spans) {
            if span.trace_id != latest.0 {
                let next = sizes.len() as u32;
                let slot = *known.entry(span.trace_id).or_insert(next);
                if slot == next {
                    sizes.push((0, 0));
                }
                latest = (span.trace_id, slot);
            }
            let size = &mut sizes[latest.1 as usize];
            *size = (size.0 + 1, index);
            slots.push(latest.1);
        }
        let whole = vec![false; sizes.len()];
        Traces {
            slots,
            sizes,
            whole,
        }
    }

    /// Marks the quiet traces as whole, and the largest others if too much would stay.
    fn choose(&mut self, quiet: usize, spans: usize, stay_max: usize, cut: &mut u64) {
        let mut stay = 0;
        for (whole, &(size, latest)) in self.whole.iter_mut().zip(&self.sizes) {
            *whole = (latest as usize).saturating_add(quiet) < spans;
            stay += if *whole { 0 } else { size as usize };
        }
        if stay <= stay_max {
            return;
        }
        let mut left: Vec<usize> = (0..self.whole.len())
            .filter(|&slot| !self.whole[slot])
            .collect();
        left.sort_by_key(|&slot| (u32::MAX - self.sizes[slot].0, slot));
        for slot in left {
            if stay <= stay_max {
                break;
            }
            self.whole[slot] = true;
            stay -= self.sizes[slot].0 as usize;
            *cut += 1;
        }
    }

    /// Where each whole trace's spans begin in the order of traces.
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0];
        let mut end = 0;
        for (whole, &(size, _)) in self.whole.iter().zip(&self.sizes) {
            end += if *whole { size as usize } else { 0 };
            starts.push(end);
        }
        starts
    }
}

/// Identities of traces that have been merged, in two generations, the older to be forgotten.
#[derive(Default)]
struct Merged {
    older: HashSet<u64, Mixing>,
    newer: HashSet<u64, Mixing>,
}

impl Merged {
    /// Whether the trace was merged before; from now on it was.
    fn knows(&mut self, trace_id: u128) -> bool {
        let digest = mix(trace_id as u64 ^ mix((trace_id >> 64) as u64));
        if self.newer.len() >= REMEMBERED {
            self.older = std::mem::take(&mut self.newer);
        }
        !self.newer.insert(digest) || self.older.contains(&digest)
    }
}
