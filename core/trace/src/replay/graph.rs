//! A graph of the events in recorded call trees. An event is the start or the end of a segment,
//! which is a part of a call. An edge from event A to event B means that B cannot happen before A.
//! One pass over the graph replays the execution.

use std::collections::{BTreeMap, HashMap};

use super::logical_threads::{Kind, LogicalThreads, Segment};
use super::rules::{self, Release};
use super::steps;
use super::streams::roots_of;
use crate::profile::rank::ReportOptions;
use crate::selection::pattern;
use crate::tree::{Forest, NONE};

/// A call counts as queued at its server if the previous call on the same server thread ended
/// shortly before the call started. The time between that end and this start may be at most 1 /
/// `QUEUE_SLACK` of the caller's pause before the call.
const QUEUE_SLACK: u64 = 20;

/// Gaps without explanation are ignored if they take less than 1 / `OPEN_SHARE` of the duration of
/// their tree. A gap without explanation is a time interval whose end coincides with no recorded
/// event that could have caused it.
const OPEN_SHARE: u64 = 50;

/// A hypothetical change of the recorded execution, such as a faster step.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    step: u32,
    factor: f64,
    pinned: bool,
    shrinking: bool,
}

impl Change {
    /// The change that changes nothing: the replay reproduces the recorded times.
    pub fn none() -> Self {
        Self::faster(NONE, 1.0)
    }

    /// Creates a change in which the work of one step takes 1 / `factor` of its recorded time. The
    /// waiting of the step is unchanged, since it is not part of its work.
    pub fn faster(step: u32, factor: f64) -> Self {
        Self {
            step,
            factor,
            pinned: false,
            shrinking: false,
        }
    }

    /// Returns this change with the assumption that gaps without explanation end at their recorded
    /// times.
    pub fn pinned(self) -> Self {
        Self {
            pinned: true,
            ..self
        }
    }

    /// Returns this change with one more assumption: the gaps without explanation shrink by the
    /// same factor as the work of the step.
    pub fn shrinking(self) -> Self {
        Self {
            shrinking: true,
            ..self
        }
    }
}

/// The source of a happens-before edge: the edge's target happens at least `lag_ns` after `event`.
#[derive(Clone, Copy, Debug)]
struct After {
    event: u32,
    lag_ns: u64,
}

/// The graph of events. Each segment (a time interval of one span on one logical thread) has two
/// events. Event 2n is the start of segment n, and event 2n + 1 is its end.
pub struct Graph {
    threads: LogicalThreads,
    /// The number of the step (service and name) of each span.
    pub steps: Vec<u32>,
    /// For each segment, its duration without the time of waiting for other segments, ns.
    pub service_ns: Vec<u64>,
    names: Vec<(u32, u32)>,
    after: Vec<Vec<After>>,
    /// For each segment, ns: the segment's start minus the time of the latest event that must
    /// precede it.
    lag_ns: Vec<u64>,
    open: Vec<bool>,
    order: Vec<u32>,
    roots: Vec<u32>,
}

impl Graph {
    /// Builds the graph of a forest. The options have the patterns for names of calls that wait.
    pub fn of(forest: &Forest, options: &ReportOptions) -> Self {
        let waits = waits(forest, options);
        let threads = LogicalThreads::of(forest, &waits);
        let releases = rules::find(forest, &threads, &waits);
        let (steps, names) = steps_of(forest);
        let segments = &threads.segments;
        let took = |segment: &Segment| match segment.kind {
            Kind::Joined => 0,
            _ => segment.end_ns - segment.start_ns,
        };
        let mut graph = Graph {
            service_ns: segments.iter().map(took).collect(),
            after: vec![Vec::new(); 2 * segments.len()],
            lag_ns: vec![0; segments.len()],
            open: segments.iter().map(|s| s.kind == Kind::Open).collect(),
            order: Vec::new(),
            roots: (0..forest.spans.len() as u32)
                .filter(|&span| forest.parents[span as usize] == NONE)
                .collect(),
            threads,
            steps,
            names,
        };
        graph.link(forest);
        graph.release(&releases);
        graph.keep_notable(forest);
        graph.sort();
        graph.measure_lags();
        graph
    }

    /// The segments of the graph.
    pub fn segments(&self) -> &[Segment] {
        &self.threads.segments
    }

    /// The name of a step for reports: service and name joined by ":", or the name alone.
    pub fn name(&self, forest: &Forest, step: u32) -> String {
        let (service, name) = self.names[step as usize];
        let (service, name) = (forest.texts.text(service), forest.texts.text(name));
        match service {
            "" => name.to_owned(),
            _ => format!("{service}:{name}"),
        }
    }

    /// Whether there is a gap without explanation: a segment whose end no recorded event explains.
    pub fn has_open(&self) -> bool {
        self.open.contains(&true)
    }

    /// Total time of gaps without explanation, ns.
    pub fn open_ns(&self) -> u128 {
        let open = self
            .open
            .iter()
            .zip(&self.service_ns)
            .filter(|(open, _)| **open);
        open.map(|(_, &ns)| u128::from(ns)).sum()
    }

    /// Returns the duration of every call tree after a change of the execution, ns.
    pub fn totals(&self, change: Change) -> Vec<u64> {
        let times = self.replay(change);
        let took = |&root: &u32| {
            let (first, last) = self.threads.of_span[root as usize];
            times[last as usize * 2 + 1] - times[first as usize * 2]
        };
        self.roots.iter().map(took).collect()
    }

    fn replay(&self, change: Change) -> Vec<u64> {
        let mut times = vec![0u64; self.after.len()];
        for &event in &self.order {
            steps::take(1 + self.after[event as usize].len());
            let at = (event / 2) as usize;
            let segment = &self.threads.segments[at];
            let after = &self.after[event as usize];
            let latest = after
                .iter()
                .map(|one| times[one.event as usize] + one.lag_ns)
                .max();
            times[event as usize] = if event.is_multiple_of(2) {
                latest.map_or(segment.start_ns, |ns| ns + self.lag_ns[at])
            } else {
                let mut end_ns = times[event as usize - 1] + self.work_ns(at, change);
                if change.pinned && self.open[at] {
                    end_ns = end_ns.max(segment.end_ns);
                }
                end_ns.max(latest.unwrap_or(0))
            };
        }
        times
    }

    fn work_ns(&self, at: usize, change: Change) -> u64 {
        let whole_ns = self.service_ns[at];
        let hit = self.steps[self.threads.segments[at].span as usize] == change.step;
        if hit || change.shrinking && self.open[at] {
            (whole_ns as f64 / change.factor).round() as u64
        } else {
            whole_ns
        }
    }

    /// Adds the edges that the calls imply:
    /// - The segments of one logical thread follow each other.
    /// - Calls begin after their callers.
    /// - Callers wait for the ends of their calls.
    fn link(&mut self, forest: &Forest) {
        let mut latest: HashMap<u32, u32> = HashMap::new();
        let mut before_in_thread = vec![NONE; self.threads.segments.len()];
        for at in 0..self.threads.segments.len() as u32 {
            let segment = self.threads.segments[at as usize];
            if let Some(before) = latest.insert(segment.thread, at) {
                let fits = self.threads.segments[before as usize].end_ns <= segment.start_ns;
                before_in_thread[at as usize] = before;
                assert!(fits, "segments of one logical thread follow each other");
                self.wait_for(2 * at, 2 * before + 1, 0);
            }
            if segment.joins != NONE {
                let (_, last) = self.threads.of_span[segment.joins as usize];
                self.wait_for(2 * at + 1, 2 * last + 1, 0);
            }
        }
        for span in 0..forest.spans.len() as u32 {
            let parent = forest.parents[span as usize];
            if parent == NONE || self.threads.is_nested(span) {
                continue;
            }
            let (first, _) = self.threads.of_span[span as usize];
            let start_ns = self.threads.segments[first as usize].start_ns;
            let (from, to) = self.threads.of_span[parent as usize];
            let callers = &self.threads.segments[from as usize..=to as usize];
            let ended = callers.partition_point(|segment| segment.end_ns <= start_ns) as u32;
            match ended {
                0 if callers[0].start_ns <= start_ns => self.wait_for(2 * first, 2 * from, 0),
                0 => {}
                _ => self.wait_for(2 * first, 2 * (from + ended - 1) + 1, 0),
            }
            if ended > 0 {
                self.queue(from + ended - 1, before_in_thread[first as usize], start_ns);
            }
        }
    }

    /// Determines whether a caller paused before its call because the call had to queue at its
    /// server. This is assumed if the call began soon after the previous call on the serving thread
    /// had ended. The pause then does not count as work of the caller.
    ///
    /// `caller` is the segment of the pause. `served` is the segment on the serving thread before
    /// the call. `start_ns` is the start of the call.
    fn queue(&mut self, caller: u32, served: u32, start_ns: u64) {
        let pause = self.threads.segments[caller as usize];
        if served == NONE || pause.end_ns != start_ns || pause.kind == Kind::Leaf {
            return;
        }
        let free_ns = self.threads.segments[served as usize].end_ns;
        let took_ns = pause.end_ns - pause.start_ns;
        if free_ns > pause.start_ns && start_ns - free_ns <= took_ns / QUEUE_SLACK {
            self.service_ns[caller as usize] = 0;
            self.wait_for(2 * caller + 1, 2 * served + 1, start_ns - free_ns);
        }
    }

    fn wait_for(&mut self, event: u32, before: u32, lag_ns: u64) {
        let one = After {
            event: before,
            lag_ns,
        };
        self.after[event as usize].push(one);
    }

    /// Adds an edge for each inferred dependency in `releases`. A dependency says that a segment
    /// waited for an event. The time of this waiting is subtracted from the segment's work.
    fn release(&mut self, releases: &[Release]) {
        let mut held: BTreeMap<(u32, u32, Class), Vec<u32>> = BTreeMap::new();
        let mut tight = vec![false; self.threads.segments.len()];
        let mut ruled = vec![false; self.threads.segments.len()];
        for release in releases {
            let (first, last) = self.threads.of_span[release.by as usize];
            let event = if release.at_end {
                2 * last + 1
            } else {
                2 * first
            };
            self.wait_for(2 * release.segment + 1, event, release.lag_ns);
            if release.once {
                self.service_ns[release.segment as usize] = 0;
                self.open[release.segment as usize] = false;
                continue;
            }
            tight[release.segment as usize] |= release.tight;
            ruled[release.segment as usize] = true;
        }
        for at in 0..self.threads.segments.len() as u32 {
            let segment = &self.threads.segments[at as usize];
            if ruled[at as usize] {
                let key = (
                    segment.thread,
                    self.steps[segment.span as usize],
                    class_of(segment.kind),
                );
                held.entry(key).or_default().push(at);
            }
        }
        for ((_, _, kind), members) in held {
            let took = |at: &u32| self.service_ns[*at as usize];
            let mut free: Vec<u64> = members
                .iter()
                .filter(|&&at| !tight[at as usize])
                .map(took)
                .collect();
            free.sort_unstable();
            let least = members.iter().map(took).min().unwrap_or(0);
            let usual = match kind {
                Class::Wait => 0,
                _ if free.len() >= 3 => free[free.len() / 2],
                // A gap between child calls may contain no work at all, because nearly every such
                // gap was a wait for another call.
                Class::Between => 0,
                Class::Leaf => least,
            };
            for at in members {
                self.open[at as usize] = false;
                if tight[at as usize] {
                    self.service_ns[at as usize] = self.service_ns[at as usize].min(usual);
                }
            }
        }
    }

    /// Ignores those gaps without explanation that take less than 1 / `OPEN_SHARE` of the duration
    /// of their tree.
    fn keep_notable(&mut self, forest: &Forest) {
        let roots = roots_of(forest);
        for (open, segment) in self.open.iter_mut().zip(&self.threads.segments) {
            let whole_ns = forest.spans[roots[segment.span as usize] as usize].duration_ns();
            *open &= (segment.end_ns - segment.start_ns).saturating_mul(OPEN_SHARE) >= whole_ns;
        }
    }

    /// Sorts the events topologically. Inferred dependencies may form a cycle. In this case, those
    /// edges of the cycle that lead to its earliest event are removed.
    fn sort(&mut self) {
        let events = self.after.len();
        let mut missing: Vec<u32> = vec![0; events];
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); events];
        for (event, after) in (0u32..).zip(&self.after) {
            let mut ahead: Vec<u32> = after.iter().map(|one| one.event).collect();
            if !event.is_multiple_of(2) {
                ahead.push(event - 1);
            }
            missing[event as usize] = ahead.len() as u32;
            for other in ahead {
                before[other as usize].push(event);
            }
        }
        let mut by_time: Vec<u32> = (0..events as u32).collect();
        by_time.sort_by_key(|&event| (self.time(event), event));
        let mut done = vec![false; events];
        for cut in [false, true] {
            for &next in &by_time {
                let mut ready = vec![next];
                while let Some(event) = ready.pop() {
                    steps::take(1 + before[event as usize].len());
                    let held = missing[event as usize] > 0 && !(cut && event == next);
                    if done[event as usize] || held {
                        continue;
                    }
                    self.after[event as usize].retain(|one| done[one.event as usize]);
                    done[event as usize] = true;
                    self.order.push(event);
                    for &other in &before[event as usize] {
                        missing[other as usize] = missing[other as usize].saturating_sub(1);
                        if missing[other as usize] == 0 {
                            ready.push(other);
                        }
                    }
                }
            }
        }
    }

    fn time(&self, event: u32) -> u64 {
        let segment = &self.threads.segments[(event / 2) as usize];
        if event.is_multiple_of(2) {
            segment.start_ns
        } else {
            segment.end_ns
        }
    }

    /// Computes the delays that no edge explains. These are the delays before the starts of
    /// segments, and the delays before ends of segments whose edges were removed to break a cycle.
    fn measure_lags(&mut self) {
        for at in 0..self.threads.segments.len() {
            let latest = |event: usize| {
                let after = self.after[event].iter();
                after.map(|one| self.time(one.event) + one.lag_ns).max()
            };
            let segment = self.threads.segments[at];
            let (start, end) = (latest(2 * at), latest(2 * at + 1));
            self.lag_ns[at] = start.map_or(0, |ns| segment.start_ns.saturating_sub(ns));
            let worked_ns = segment.start_ns + self.service_ns[at];
            if worked_ns.max(end.unwrap_or(0)) < segment.end_ns {
                self.service_ns[at] = segment.end_ns - segment.start_ns;
            }
        }
    }
}

/// The class of a segment: a whole call without child calls, self time between child calls, or
/// waiting. The usual working time of a segment is determined separately for each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Leaf,
    Between,
    Wait,
}

fn class_of(kind: Kind) -> Class {
    match kind {
        Kind::Leaf => Class::Leaf,
        Kind::Between => Class::Between,
        Kind::Wait | Kind::Open | Kind::Joined => Class::Wait,
    }
}

fn waits(forest: &Forest, options: &ReportOptions) -> Vec<bool> {
    let mut named: HashMap<u32, bool> = HashMap::new();
    let mut is_wait = |name: u32| {
        *named.entry(name).or_insert_with(|| {
            let text = forest.texts.text(name);
            options
                .wait_patterns
                .iter()
                .any(|one| pattern::matches(one, text))
        })
    };
    forest
        .spans
        .iter()
        .map(|span| span.wait || is_wait(span.name))
        .collect()
}

/// Returns two lists. The first has the number of the step of each span. The second has, for each
/// step, the numbers of the texts of its service and its name.
fn steps_of(forest: &Forest) -> (Vec<u32>, Vec<(u32, u32)>) {
    let (mut ids, mut names) = (HashMap::new(), Vec::new());
    let steps = forest.spans.iter().map(|span| {
        *ids.entry((span.service, span.name)).or_insert_with(|| {
            names.push((span.service, span.name));
            names.len() as u32 - 1
        })
    });
    (steps.collect(), names)
}
