//! Infers regular dependencies between logical threads from the times of many repetitions. The
//! calls of one logical thread are disjoint or nested in time.
//!
//! For example, no span of a streaming write says "packet 40 was accepted once packet 24 had left
//! the buffer". But the times of the spans may show it. For some distance d, the i-th item of one
//! stream never ends before the (i + d)-th event of another stream, and often ends right after it.
//! This suggests that the events of the second stream release the items of the first stream. Such
//! dependencies reveal a pipeline, its buffers and its window of unacknowledged packets without a
//! model.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::logical_threads::{Kind, LogicalThreads};
use super::neighbours::Neighbours;
use super::steps;
use super::streams::{roots_of, streams_of, SegmentStream};
use super::thresholds::{
    EXPLAINED_MIN, FREE_MIN, HELD_UP_RATIO, ITEMS_MIN, ONCE_SHARE, ONCE_SLACK, PAUSES_MIN,
    SHARE_MIN, SLACK, STREAMS_MAX,
};
use crate::tree::{Forest, NONE};

/// A dependency of a segment (a time interval on one logical thread) on an event. The end of the
/// segment waited for the event, or at least never preceded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Index of the segment.
    pub segment: u32,
    /// Index of the span whose start or end is the event that releases the segment.
    pub by: u32,
    /// True if the end of the span releases the segment, false if its start does.
    pub at_end: bool,
    /// Minimum time from the event to the end of the segment, ns.
    pub lag_ns: u64,
    /// Whether the segment ended right after the event, which means that the segment waited for the
    /// event.
    pub tight: bool,
    /// Whether the dependency was observed only once, so that only the times of this one case
    /// support it.
    pub once: bool,
}

/// The calls of one name on one logical thread of a tree, except calls that are marked as waits.
/// The start or end of such a call is an event that may release a segment.
struct Events {
    thread: u32,
    spans: Vec<u32>,
}

struct Candidate {
    distance: u32,
    lag_ns: u64,
    tight: usize,
    events: usize,
    at_end: bool,
    shift: i64,
}

/// Finds all dependencies in a forest of call trees.
pub fn find(forest: &Forest, threads: &LogicalThreads, waits: &[bool]) -> Vec<Release> {
    let roots = roots_of(forest);
    let mut trees = trees_of(forest, threads, waits, &roots);
    let mut found = Vec::new();
    for (root, streams) in streams_of(forest, threads, &roots) {
        let Some(mut tree) = trees.remove(&root).filter(|tree| !tree.edges.is_empty()) else {
            continue;
        };
        let start_ns = |&span: &u32| (forest.spans[span as usize].start_ns, span);
        tree.events.retain(|events| events.spans.len() >= ITEMS_MIN);
        tree.events.truncate(STREAMS_MAX);
        let requested = tree.events.iter().map(|events| events.thread).collect();
        tree.neighbours = Neighbours::of(&tree.edges, &requested);
        for events in &mut tree.events {
            events.spans.sort_by_key(start_ns);
        }
        let end_ns = |&span: &u32| (forest.spans[span as usize].end_ns, span);
        tree.tops.sort_by_key(end_ns);
        let enough = |stream: &SegmentStream| stream.segments.len() >= ITEMS_MIN;
        let (many, few): (Vec<SegmentStream>, Vec<SegmentStream>) =
            streams.into_values().partition(enough);
        tree.releases(many.into_iter().take(STREAMS_MAX), &mut found);
        tree.pauses(few.iter(), &mut found);
    }
    found
}

/// Returns a map from the index of each tree's root to a `Tree`. The `Tree` has two parts: the
/// tree's calls, grouped by logical thread and name, and the pairs of logical threads that call
/// each other.
fn trees_of<'a>(
    forest: &'a Forest,
    threads: &'a LogicalThreads,
    waits: &[bool],
    roots: &[u32],
) -> HashMap<u32, Tree<'a>> {
    let mut trees: HashMap<u32, Tree<'a>> = HashMap::new();
    let mut places: HashMap<(u32, u32, u32), usize> = HashMap::new();
    for (span, &root) in (0u32..).zip(roots) {
        let tree = trees.entry(root).or_insert_with(|| Tree {
            forest,
            threads,
            edges: Vec::new(),
            neighbours: Neighbours::default(),
            events: Vec::new(),
            tops: Vec::new(),
            whole_ns: forest.spans[root as usize].duration_ns(),
        });
        let thread = threads.thread_of[span as usize];
        if !waits[span as usize] {
            let name = forest.spans[span as usize].name;
            let place = *places.entry((root, thread, name)).or_insert_with(|| {
                tree.events.push(Events {
                    thread,
                    spans: Vec::new(),
                });
                tree.events.len() - 1
            });
            tree.events[place].spans.push(span);
        }
        let parent = forest.parents[span as usize];
        if parent != NONE && threads.thread_of[parent as usize] != thread {
            tree.tops.push(span);
            tree.edges
                .push((threads.thread_of[parent as usize], thread));
        }
    }
    trees
}

struct Tree<'a> {
    forest: &'a Forest,
    threads: &'a LogicalThreads,
    edges: Vec<(u32, u32)>,
    neighbours: Neighbours,
    events: Vec<Events>,
    /// Calls that are on another logical thread than their caller, ordered by end.
    tops: Vec<u32>,
    whole_ns: u64,
}

impl Tree<'_> {
    fn releases(&self, streams: impl Iterator<Item = SegmentStream>, found: &mut Vec<Release>) {
        // Dependencies of streams on calls that they follow although no waiting is visible. The key
        // is (logical thread of the stream, logical thread of the calls). The value has the
        // smallest lag of these dependencies in ns, and one dependency for each segment of the
        // stream.
        let mut unobserved_waits: BTreeMap<(u32, u32), (u64, Vec<Release>)> = BTreeMap::new();
        let mut near = (NONE, HashMap::new());
        for stream in streams {
            // Streams of one logical thread are consecutive, so the distances from this logical
            // thread are computed once.
            if near.0 != stream.thread {
                near = (stream.thread, self.neighbours.distances(stream.thread));
            }
            let near = &near.1;
            let ends = self.ends(&stream);
            let paused = self.paused(&stream, &ends);
            let mut candidates: Vec<Candidate> = Vec::new();
            for (index, events) in self.events.iter().enumerate() {
                let Some(&distance) = near.get(&events.thread).filter(|&&far| far > 0) else {
                    continue;
                };
                for at_end in [false, true] {
                    let candidate = self.candidate((&ends, &paused), index, at_end, distance);
                    candidates.extend(candidate);
                }
            }
            let tenth = 1.max(paused.iter().filter(|&&one| one).count() / 10);
            // Candidates are sorted by the number of pauses that they explain, largest number
            // first. Differences of less than `tenth` are ignored; such candidates are ordered by
            // distance, then by lag.
            candidates
                .sort_by_key(|one| (usize::MAX - one.tight / tenth, one.distance, one.lag_ns));
            let before = found.len();
            if self.matters(&stream) {
                self.choose(&stream, (&ends, &paused), &candidates, found);
            }
            if found.len() > before || stream.kind == Kind::Leaf {
                continue;
            }
            let unobserved_wait = self.unobserved_wait(&ends, near);
            if let Some(wait) = unobserved_wait {
                let threads = (stream.thread, self.events[wait.events].thread);
                if unobserved_waits
                    .get(&threads)
                    .is_none_or(|(lag_ns, _)| wait.lag_ns < *lag_ns)
                {
                    let all = self.all_of(&stream, &ends, &wait, false);
                    unobserved_waits.insert(threads, (wait.lag_ns, all));
                }
            }
        }
        found.extend(
            unobserved_waits
                .into_values()
                .flat_map(|(_, releases)| releases),
        );
    }

    /// Finds calls that the items of a stream follow although no waiting is visible. This is the
    /// case if, for at least 98 % of the items, event i precedes the end of item i. The events are
    /// either the starts or the ends of the calls. `ends` has the end of each item, ns.
    ///
    /// The calls of one name on one neighbouring logical thread (distance 1 in `near`) are
    /// considered if there are as many calls as items. If several names qualify, returns the
    /// candidate with the smallest lag; None if no name qualifies.
    fn unobserved_wait(&self, ends: &[u64], near: &HashMap<u32, u32>) -> Option<Candidate> {
        let mut found: Option<Candidate> = None;
        for (index, events) in self.events.iter().enumerate() {
            if near.get(&events.thread) != Some(&1) || events.spans.len() != ends.len() {
                continue;
            }
            for at_end in [false, true] {
                let slacks = slacks(ends, 0, &self.times(index, at_end));
                let known = slacks.iter().flatten().count();
                let Some(&lag_ns) = slacks.iter().flatten().min() else {
                    continue;
                };
                let nearer = found.as_ref().is_none_or(|one| lag_ns < one.lag_ns);
                if known * 50 >= ends.len() * 49 && nearer {
                    found = Some(Candidate {
                        distance: 1,
                        lag_ns,
                        tight: 0,
                        events: index,
                        at_end,
                        shift: 0,
                    });
                }
            }
        }
        found
    }

    /// Finds rare, long pauses that end right after a call on another logical thread. For each such
    /// pause, adds to `found` a dependency of the pause on this call.
    fn pauses<'s>(
        &self,
        streams: impl Iterator<Item = &'s SegmentStream>,
        found: &mut Vec<Release>,
    ) {
        let before = self.tops_before();
        for &at in streams
            .filter(|one| one.kind != Kind::Leaf)
            .flat_map(|one| &one.segments)
        {
            let segment = &self.threads.segments[at as usize];
            let took_ns = (segment.end_ns - segment.start_ns) as f64;
            if took_ns < ONCE_SHARE * self.whole_ns as f64 {
                continue;
            }
            let ended = |&span: &u32| self.forest.spans[span as usize].end_ns;
            let done = self
                .tops
                .partition_point(|span| ended(span) <= segment.end_ns);
            steps::take(1);
            let Some(last) = done.checked_sub(1) else {
                continue;
            };
            let by = match self.threads.thread_of[self.tops[last] as usize] {
                thread if thread == segment.thread => before[last],
                _ => self.tops[last],
            };
            if by == NONE {
                continue;
            }
            let lag_ns = segment.end_ns - ended(&by);
            if ended(&by) > segment.start_ns && lag_ns as f64 <= ONCE_SLACK * took_ns {
                found.push(Release {
                    segment: at,
                    by,
                    at_end: true,
                    lag_ns,
                    tight: true,
                    once: true,
                });
            }
        }
    }

    /// Returns, for each call in `tops`, the index of the span of its predecessor; `NONE` if there
    /// is none. The predecessor of a call is the last earlier entry of `tops` that is on another
    /// logical thread than the call. `tops` is ordered by end, so the predecessor ends first.
    fn tops_before(&self) -> Vec<u32> {
        let mut before: Vec<u32> = Vec::with_capacity(self.tops.len());
        for (place, &span) in self.tops.iter().enumerate() {
            steps::take(1);
            let thread = |span: u32| self.threads.thread_of[span as usize];
            let found = match place.checked_sub(1).map(|at| (self.tops[at], before[at])) {
                None => NONE,
                Some((latest, earlier)) if thread(latest) == thread(span) => earlier,
                Some((latest, _)) => latest,
            };
            before.push(found);
        }
        before
    }

    /// Returns, for each segment of a stream, whether it took much longer than usual, so that a
    /// dependency must explain its length. `ends` has the end of each segment, ns.
    fn paused(&self, stream: &SegmentStream, ends: &[u64]) -> Vec<bool> {
        let notable_ns = spacing_ns(ends) * SLACK;
        let took = |&at: &u32| {
            let segment = &self.threads.segments[at as usize];
            (segment.end_ns - segment.start_ns) as f64
        };
        stream
            .segments
            .iter()
            .map(|at| took(at) > notable_ns)
            .collect()
    }

    fn ends(&self, stream: &SegmentStream) -> Vec<u64> {
        let end = |&at: &u32| self.threads.segments[at as usize].end_ns;
        stream.segments.iter().map(end).collect()
    }

    fn matters(&self, stream: &SegmentStream) -> bool {
        let took = |&at: &u32| {
            let segment = &self.threads.segments[at as usize];
            segment.end_ns - segment.start_ns
        };
        let all_ns: u64 = stream.segments.iter().map(took).sum();
        all_ns as f64 >= SHARE_MIN * self.whole_ns as f64
    }

    fn times(&self, events: usize, at_end: bool) -> impl Fn(i64) -> Option<u64> + '_ {
        let spans = &self.events[events].spans;
        move |place| {
            let span = spans.get(usize::try_from(place).ok()?)?;
            let span = &self.forest.spans[*span as usize];
            Some(if at_end { span.end_ns } else { span.start_ns })
        }
    }

    /// Determines which event may release each item of a stream. An event is the start of a call in
    /// `self.events[events]` or, if `at_end`, its end. Event i + shift is assigned to item i.
    ///
    /// An item fits a shift if it ends no earlier than its event. The chosen shift is the largest
    /// shift that at least about 98 % of the items fit. None if too few items end after the first
    /// event.
    fn candidate(
        &self,
        (ends, paused): (&[u64], &[bool]),
        events: usize,
        at_end: bool,
        distance: u32,
    ) -> Option<Candidate> {
        let time = self.times(events, at_end);
        let (mut place, mut shifts) = (-1i64, Vec::with_capacity(ends.len()));
        for (index, &end_ns) in (0i64..).zip(ends) {
            while time(place + 1).is_some_and(|at| at <= end_ns) {
                steps::take(1);
                place += 1;
            }
            if place >= 0 {
                shifts.push(place - index);
            }
        }
        if shifts.len() < ITEMS_MIN.max(ends.len() / 4) {
            return None;
        }
        let rare = shifts.len() / 50;
        let (_, &mut shift, _) = shifts.select_nth_unstable(rare);
        let slacks = slacks(ends, shift, &time);
        let lag_ns = *slacks.iter().flatten().min()?;
        let tolerance_ns = (spacing_ns(ends) * SLACK) as u64;
        let near = |(slack, paused): &(&Option<u64>, &bool)| {
            **paused && slack.is_some_and(|slack| slack <= lag_ns + tolerance_ns)
        };
        let tight = slacks.iter().zip(paused).filter(near).count();
        Some(Candidate {
            distance,
            lag_ns,
            tight,
            events,
            at_end,
            shift,
        })
    }

    /// Accepts candidates in the given order and adds their dependencies to `found`. Each candidate
    /// explains some of the pauses. A candidate is skipped if it explains too few of those pauses
    /// that no accepted candidate explains.
    fn choose(
        &self,
        stream: &SegmentStream,
        (ends, paused): (&[u64], &[bool]),
        candidates: &[Candidate],
        found: &mut Vec<Release>,
    ) {
        let spacing = spacing_ns(ends);
        let mut explained: Vec<bool> = paused.iter().map(|paused| !paused).collect();
        let place: HashMap<u32, usize> = stream.segments.iter().copied().zip(0..).collect();
        for one in candidates {
            steps::take(explained.len());
            let open = explained.iter().filter(|&&explained| !explained).count();
            let enough = ((open as f64 * EXPLAINED_MIN) as usize).max(PAUSES_MIN);
            if one.tight < enough || one.lag_ns as f64 > spacing {
                continue;
            }
            let releases = self.all_of(stream, ends, one, true);
            let new = |release: &&Release| release.tight && !explained[place[&release.segment]];
            if releases.iter().filter(new).count() < enough {
                continue;
            }
            if stream.kind == Kind::Leaf && !self.is_held_up(stream, &releases, one, spacing) {
                continue;
            }
            for release in releases.iter().filter(|release| release.tight) {
                explained[place[&release.segment]] = true;
            }
            found.extend(releases);
        }
    }

    /// Whether the calls of a stream wait for the event that releases them, although their name
    /// does not mark them as waits. This is assumed if the calls that ended right after their event
    /// took clearly longer than the other calls.
    fn is_held_up(
        &self,
        stream: &SegmentStream,
        releases: &[Release],
        one: &Candidate,
        spacing: f64,
    ) -> bool {
        let tight: HashSet<u32> = releases
            .iter()
            .filter(|r| r.tight)
            .map(|r| r.segment)
            .collect();
        steps::take(stream.segments.len());
        let median = |mut values: Vec<u64>| {
            values.sort_unstable();
            values.get(values.len() / 2).copied()
        };
        let took = |at: &u32| {
            let segment = &self.threads.segments[*at as usize];
            segment.end_ns - segment.start_ns
        };
        let held = median(tight.iter().map(took).collect());
        let free = stream.segments.iter().filter(|at| !tight.contains(at));
        let free: Vec<u64> = free.map(took).collect();
        let enough = free.len() >= FREE_MIN;
        let (Some(held), Some(free)) = (held, median(free)) else {
            return false;
        };
        enough && held as f64 > HELD_UP_RATIO * free as f64 && one.lag_ns as f64 <= SLACK * spacing
    }

    fn all_of(
        &self,
        stream: &SegmentStream,
        ends: &[u64],
        one: &Candidate,
        may_be_tight: bool,
    ) -> Vec<Release> {
        let time = self.times(one.events, one.at_end);
        let tolerance_ns = (spacing_ns(ends) * SLACK) as u64;
        let spans = &self.events[one.events].spans;
        let slacks = slacks(ends, one.shift, &time);
        let mut releases = Vec::new();
        for (index, slack) in slacks.iter().enumerate() {
            let Some(slack) = *slack else { continue };
            let tight = may_be_tight && slack <= one.lag_ns + tolerance_ns;
            releases.push(Release {
                segment: stream.segments[index],
                by: spans[(index as i64 + one.shift) as usize],
                at_end: one.at_end,
                lag_ns: if tight { slack } else { one.lag_ns },
                tight,
                once: false,
            });
        }
        releases
    }
}

/// Returns the slack of each item in ns: the time from its event to its end. The event of item i is
/// event i + `shift`. The slack is None if the event does not exist or is later than the item's
/// end.
fn slacks(ends: &[u64], shift: i64, time: &impl Fn(i64) -> Option<u64>) -> Vec<Option<u64>> {
    steps::take(ends.len());
    let slack = |(index, &end_ns): (i64, &u64)| end_ns.checked_sub(time(index + shift)?);
    (0i64..).zip(ends).map(slack).collect()
}

fn spacing_ns(ends: &[u64]) -> f64 {
    let mut between: Vec<u64> = ends
        .windows(2)
        .map(|two| two[1].saturating_sub(two[0]))
        .collect();
    between.sort_unstable();
    between.get(between.len() / 2).copied().unwrap_or(0) as f64
}
