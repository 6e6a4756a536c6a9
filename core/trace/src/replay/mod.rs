//! Estimates the end-to-end gain of making one step faster, by replaying recorded call trees.
//!
//! The recorded times are converted to a graph of events. An event cannot happen before its
//! predecessors. Each predecessor gives a lower bound for the event's time: the predecessor's time
//! plus a delay. The event's time is the maximum of these bounds (max-plus algebra, as for tandem
//! queues with finite buffers).
//!
//! The predecessors follow from three rules: each logical thread executes its segments in order,
//! calls begin after their callers, and callers wait for their calls. `rules` adds inferred
//! dependencies. Without a change, the replay reproduces the recorded times exactly. If the work of
//! one step is divided by a factor, the replay yields the times of the changed execution.

mod elsewhere;
mod graph;
#[cfg(test)]
mod growth;
mod logical_threads;
mod neighbours;
mod rules;
mod sample;
mod steps;
mod streams;
mod thread_pool;
mod thresholds;

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use crate::profile::merged::{seconds, signed};
use crate::profile::rank::ReportOptions;
use crate::selection::Selection;
use crate::tree::{Forest, NONE};
use graph::{Change, Graph};
pub use sample::TraceSample;
use sample::SPANS_MAX;

/// Largest number of steps whose gain is estimated. The steps with the most work are chosen.
const STEPS_MAX: usize = 60;
/// Limits for the verdict "cannot tell" on a step. The step gets this verdict if the confidence
/// interval of its saving is wider than `WIDE` times the interval's upper end, and also wider than
/// the fraction `NOTABLE` of the end-to-end time.
const WIDE: f64 = 0.6;
const NOTABLE: f64 = 0.02;
/// Half-width of a 90 % confidence interval, in units of the standard error.
const Z90: f64 = 1.645;

/// Whether a faster step shortens the end-to-end time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SavingVerdict {
    /// The confidence interval of the saving excludes zero.
    Faster,
    /// The saving is not distinguishable from zero, or too small to matter.
    #[serde(rename = "no gain")]
    NoGain,
    /// The confidence interval of the saving is too wide for a verdict, or there is none because
    /// only one tree was replayed.
    #[serde(rename = "cannot tell")]
    Inconclusive,
}

/// The estimated end-to-end gain from making one step faster.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Saving {
    /// Service and name of the step, joined by ":". If no service is known, the name alone. In
    /// profiles of processes, the step is identified by its whole call path instead.
    #[schemars(extend("format" = "call-path"))]
    pub step: String,
    /// Fraction of end-to-end time that would be saved if the step were faster by the factor.
    pub saving: f64,
    /// Lower end of the 90 % confidence interval of the saving.
    pub low: f64,
    /// Upper end of the 90 % confidence interval of the saving.
    pub high: f64,
    /// Whether a faster step shortens the end-to-end time, according to the interval.
    pub verdict: SavingVerdict,
    /// Seconds of the step's self time that were work or an unexplained delay.
    pub work_s: f64,
    /// Seconds of the step's self time that were spent waiting for other steps.
    pub waited_s: f64,
    /// Whether calls of the step are waits, by their name or by the recorder's classification.
    pub wait: bool,
    /// Self time of the step as a fraction of all self time. This is the saving that one would
    /// expect from a ranking of the steps by self time.
    pub summed_share: f64,
    /// Fraction of the critical path that the step takes. The critical path is estimated backwards
    /// in time: from the end of each call, it leads to the child call that finished last. Only in
    /// traces of spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_finisher_share: Option<f64>,
    /// Work of the step divided by the elapsed time of the logical threads that do it. Only in
    /// traces of spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// Name of the root call below which the step is. Only in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Cost class, which says what the step does or waits for. Only in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of calls of the step. Only in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Self time of the step in nanoseconds. Only in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_ns: Option<u64>,
}

/// The estimated end-to-end gains from making each step faster, the largest gain first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Savings {
    /// Factor by which each step is made faster.
    pub factor: f64,
    /// Sum of the durations of all replayed trees, seconds.
    pub end_to_end_s: f64,
    /// Number of trees replayed.
    pub trees: u64,
    /// Number of trees that were not replayed because there were too many spans. Only in traces of
    /// spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees_left_out: Option<u64>,
    /// Fraction of the end-to-end time that is without explanation: it passed in delays that end at
    /// no recorded event. Set only for traces of spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<f64>,
    /// Names of the root calls to which the gains refer. Only in profiles of processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// The gain from each step, the largest first.
    pub steps: Vec<Saving>,
}

/// Predicts the gains from making steps faster. For each of the steps with the most work, replays
/// the forest with this step made `options.factor` times faster.
pub fn savings(forest: &Forest, options: &ReportOptions) -> Savings {
    if forest.spans.len() <= SPANS_MAX {
        return predict(forest, options, 0);
    }
    let mut sample = TraceSample::default();
    for trace in forest
        .spans
        .chunk_by(|left, right| left.trace_id == right.trace_id)
    {
        sample.offer(trace);
    }
    let smaller = sample.forest(&forest.texts);
    predict(&smaller, options, forest.trees() - smaller.trees())
}

/// Estimates gains like `savings`, for a sample of the trees of a larger trace. `trees_left_out` is
/// the number of trees that are not in the sample. Calls that the options drop are not replayed.
///
/// # Panics
///
/// If the options are invalid. Invalid options cannot occur here, because reading the files with
/// them would have failed.
pub fn savings_of_sample(sample: &Forest, trees_left_out: u64, options: &ReportOptions) -> Savings {
    let mut selection = Selection::of(&options.choice).expect("a choice that was read under");
    if !selection.drops() {
        return predict(sample, options, trees_left_out);
    }
    let mut chosen = sample.clone();
    selection.apply(&mut chosen, &sample.texts);
    predict(&chosen, options, trees_left_out)
}

/// Times of one step, summed over its calls.
#[derive(Clone, Copy, Default)]
struct StepTimes {
    work_ns: u128,
    waited_ns: u128,
    self_ns: u128,
    last_ns: u128,
    threads_ns: u128,
    wait: bool,
}

/// Returns several measures of the time of each step: its work, its waiting, its self time, and its
/// time on the path of last finishers (see `last_finishers`).
fn sums_of(graph: &Graph, forest: &Forest) -> HashMap<u32, StepTimes> {
    let last = last_finishers(forest);
    let mut sums: HashMap<u32, StepTimes> = HashMap::new();
    let mut thread_ns: HashMap<u32, (u64, u64)> = HashMap::new();
    for segment in graph.segments() {
        let extent = thread_ns.entry(segment.thread).or_insert((u64::MAX, 0));
        *extent = (extent.0.min(segment.start_ns), extent.1.max(segment.end_ns));
    }
    let mut threads_of: HashMap<u32, BTreeSet<u32>> = HashMap::new();
    for (segment, &service_ns) in graph.segments().iter().zip(&graph.service_ns) {
        let step = graph.steps[segment.span as usize];
        let sum = sums.entry(step).or_default();
        sum.work_ns += u128::from(service_ns);
        sum.waited_ns += u128::from(segment.end_ns - segment.start_ns - service_ns);
        sum.wait |= segment.kind == logical_threads::Kind::Wait;
        threads_of.entry(step).or_default().insert(segment.thread);
    }
    for (span, &step) in graph.steps.iter().enumerate() {
        let sum = sums.entry(step).or_default();
        sum.self_ns += u128::from(forest.self_ns[span]);
        sum.last_ns += u128::from(last[span]);
    }
    for (step, threads) in &threads_of {
        let elapsed_ns = threads
            .iter()
            .map(|thread| thread_ns[thread].1 - thread_ns[thread].0);
        sums.entry(*step).or_default().threads_ns = elapsed_ns.map(u128::from).sum();
    }
    sums
}

fn predict(forest: &Forest, options: &ReportOptions, left_out: u64) -> Savings {
    let graph = Graph::of(forest, options);
    let all = graph.totals(Change::none());
    let whole_ns: u128 = all.iter().map(|&ns| u128::from(ns)).sum();
    let mut steps: Vec<(u32, StepTimes)> = sums_of(&graph, forest).into_iter().collect();
    steps.sort_by_key(|(step, sum)| (u128::MAX - sum.work_ns.max(sum.self_ns), *step));
    let self_ns: u128 = steps.iter().map(|(_, sum)| sum.self_ns).sum();
    let last_ns: u128 = steps.iter().map(|(_, sum)| sum.last_ns).sum();
    let share = |part: u128, of: u128| {
        if of == 0 {
            0.0
        } else {
            part as f64 / of as f64
        }
    };
    let mut found: Vec<Saving> = Vec::new();
    for &(step, sum) in steps.iter().take(STEPS_MAX) {
        let (saving, low, high) = interval(&graph, step, options.factor, &all);
        let verdict = match all.len() {
            1 => SavingVerdict::Inconclusive,
            _ => verdict(low, high),
        };
        found.push(Saving {
            step: graph.name(forest, step),
            saving,
            low,
            high,
            verdict,
            work_s: seconds(signed(sum.work_ns)),
            waited_s: seconds(signed(sum.waited_ns)),
            wait: sum.wait,
            summed_share: share(sum.self_ns, self_ns),
            last_finisher_share: Some(share(sum.last_ns, last_ns)),
            utilisation: Some(share(sum.work_ns, sum.threads_ns)),
            operation: None,
            kind: None,
            count: None,
            own_ns: None,
        });
    }
    found.sort_by(|left, right| {
        let ties = || left.step.cmp(&right.step);
        right.saving.total_cmp(&left.saving).then_with(ties)
    });
    Savings {
        factor: options.factor,
        end_to_end_s: seconds(signed(whole_ns)),
        trees: all.len() as u64,
        trees_left_out: Some(left_out),
        unexplained: Some(share(graph.open_ns(), whole_ns)),
        operations: Vec::new(),
        steps: found,
    }
}

fn verdict(low: f64, high: f64) -> SavingVerdict {
    if high < NOTABLE / 2.0 {
        SavingVerdict::NoGain
    } else if high - low > WIDE * high && high - low > NOTABLE {
        SavingVerdict::Inconclusive
    } else if low <= 0.0 {
        SavingVerdict::NoGain
    } else {
        SavingVerdict::Faster
    }
}

/// Returns the saving from a step made `factor` times faster, and the lower and upper end of its 90
/// % confidence interval. `all` has the durations of the trees without a change.
///
/// The saving is a ratio of sums over trees, and the interval covers its variance over trees. If
/// there are gaps without explanation, the interval is also made wide enough for two assumptions:
/// that the gaps end at their recorded times, and that they shrink by the same factor as the step's
/// work.
fn interval(graph: &Graph, step: u32, factor: f64, all: &[u64]) -> (f64, f64, f64) {
    let whole: f64 = all.iter().map(|&ns| ns as f64).sum();
    if whole == 0.0 {
        return (0.0, 0.0, 0.0);
    }
    let saved = |change: Change| -> Vec<f64> {
        let left = graph.totals(change);
        all.iter()
            .zip(left)
            .map(|(&before, after)| before as f64 - after as f64)
            .collect()
    };
    let ratio = |saved: &[f64]| saved.iter().sum::<f64>() / whole;
    let usual = saved(Change::faster(step, factor));
    let point = ratio(&usual);
    let (mut low, mut high) = (point, point);
    if graph.has_open() {
        for change in [
            Change::faster(step, factor).pinned(),
            Change::faster(step, factor).shrinking(),
        ] {
            let other = ratio(&saved(change));
            (low, high) = (low.min(other), high.max(other));
        }
    }
    let trees = all.len() as f64;
    if trees >= 2.0 {
        let residual = |(&part, &of): (&f64, &u64)| (part - point * of as f64).powi(2);
        let squares: f64 = usual.iter().zip(all).map(residual).sum();
        let half = Z90 * (squares * trees / (trees - 1.0)).sqrt() / whole;
        (low, high) = (low - half, high + half);
    }
    (point, low, high)
}

/// Returns, for each span, its time in ns on the path of last finishers. The path is followed
/// backwards in time, from the end of each root call. From a call, it leads to the child that
/// finished last. From the start of this child, it leads to the child that had finished last before
/// this time.
fn last_finishers(forest: &Forest) -> Vec<u64> {
    let mut found = vec![0u64; forest.spans.len()];
    // Spans still to be visited, each with the time up to which the calls within the span are
    // considered.
    let mut open: Vec<(u32, u64)> = Vec::new();
    for &node in &forest.order {
        if forest.parents[node as usize] == NONE {
            open.push((node, forest.spans[node as usize].end_ns));
        }
    }
    while let Some((node, until_ns)) = open.pop() {
        let span = &forest.spans[node as usize];
        let mut at_ns = until_ns;
        let mut children = forest.children.get(node).to_vec();
        steps::take(1 + children.len());
        children.sort_by_key(|&child| std::cmp::Reverse(forest.spans[child as usize].end_ns));
        for child in children {
            let call = &forest.spans[child as usize];
            if call.end_ns > at_ns || call.start_ns < span.start_ns {
                continue;
            }
            found[node as usize] += at_ns - call.end_ns;
            open.push((child, call.end_ns));
            at_ns = call.start_ns;
        }
        found[node as usize] += at_ns.saturating_sub(span.start_ns);
    }
    found
}
