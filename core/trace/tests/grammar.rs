//! Tests that loops and retries do not multiply the shapes of call trees. The number of shapes must
//! stay small for any number of repetitions or failures.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use dfslab_trace::{Forest, Report, ReportOptions, Span, SpanProfile, SpanStore, TreeNode};
use proptest::prelude::*;
use support::{profile_of, random_forest, report_of, Random};

/// A trace under construction, to which calls are added one after the other.
struct Trace<'s> {
    store: &'s mut SpanStore,
    trace_id: u128,
    number: u64,
    now_ns: u64,
}

impl<'s> Trace<'s> {
    fn new(store: &'s mut SpanStore, trace_id: u128) -> Self {
        Trace {
            store,
            trace_id,
            number: 0,
            now_ns: 1_000,
        }
    }

    /// Begins a call `name` below the call `parent_id` (0: as a root) and returns its id. `end`
    /// ends the call.
    fn begin(&mut self, name: &str, parent_id: u64) -> u64 {
        self.number += 1;
        self.now_ns += 10;
        let span = Span {
            trace_id: self.trace_id,
            span_id: self.number,
            parent_id,
            name: self.store.intern(name),
            start_ns: self.now_ns,
            ..Span::default()
        };
        self.store.spans.push(span);
        self.number
    }

    fn end(&mut self, call: u64, failed: bool) {
        self.now_ns += 7;
        let first = self.store.spans.len() as u64 - self.number;
        let span = &mut self.store.spans[(first + call - 1) as usize];
        (span.end_ns, span.status_error) = (self.now_ns, failed);
    }

    fn step(&mut self, name: &str, parent_id: u64, failed: bool) {
        let call = self.begin(name, parent_id);
        self.end(call, failed);
    }
}

const STEPS: [&str; 6] = ["locate", "connect", "send", "sync", "confirm", "close"];

/// Creates traces of writes whose attempts fail up to `retries_max` times, each at a random step.
fn with_faults(traces: u64, retries_max: u64, seed: u64) -> SpanStore {
    let (mut random, mut store) = (Random(seed), SpanStore::default());
    for trace_id in 1..=traces {
        let mut trace = Trace::new(&mut store, u128::from(trace_id));
        let write = trace.begin("write", 0);
        for attempt in (0..=random.below(retries_max + 1)).rev() {
            let call = trace.begin("attempt", write);
            let fails_at = match attempt {
                0 => STEPS.len(),
                _ => random.below(STEPS.len() as u64) as usize,
            };
            for (place, step) in STEPS.iter().enumerate().take(fails_at + 1) {
                trace.step(step, call, place == fails_at);
            }
            trace.end(call, attempt > 0);
        }
        trace.end(write, false);
    }
    store
}

/// Returns the number of distinct tree structures that would exist without the rule for retried
/// attempts, that is, if retried attempts were treated like other calls. Computes it directly from
/// the definition of a structure.
fn structures_without_rule(store: &SpanStore) -> usize {
    fn structure(forest: &Forest, node: u32) -> String {
        let below: BTreeSet<String> = forest
            .children
            .get(node)
            .iter()
            .map(|&child| structure(forest, child))
            .collect();
        let below: Vec<String> = below.into_iter().collect();
        let name = forest.texts.text(forest.spans[node as usize].name);
        format!("{name}({})", below.join(","))
    }
    let forest = Forest::recover(store.clone());
    let roots = (0..forest.spans.len() as u32).filter(|&n| forest.parents[n as usize] == u32::MAX);
    let found: BTreeSet<String> = roots.map(|root| structure(&forest, root)).collect();
    found.len()
}

#[test]
fn retries_make_no_shapes_where_there_were_ever_more() {
    let mut before = 0;
    for retries_max in [0, 1, 2, 4, 8] {
        let store = with_faults(3000, retries_max, 7);
        let without = structures_without_rule(&store);
        assert!(without > before, "{without} structures, {before} before");
        before = without;
        let profile = profile_of(&store);
        assert_eq!(profile.tree_shapes(), 1, "{retries_max} retries");
        // The expected nodes are the root, the successful attempt, the steps of this attempt, and,
        // for each possible failure, the failed attempt with the steps before the failure.
        let places = 1 + (1 + STEPS.len()) + if retries_max == 0 { 0 } else { 6 + 21 };
        assert_eq!(profile.nodes().len(), places, "{retries_max} retries");
        let failed = |span: &&Span| span.status_error && store.texts.text(span.name) == "attempt";
        let failed: Vec<&Span> = store.spans.iter().filter(failed).collect();
        let again: Vec<_> = profile.nodes().iter().filter(|node| node.again).collect();
        let calls: u64 = again.iter().map(|node| node.statistics.count).sum();
        let time_ns: u128 = again.iter().map(|node| node.statistics.total_ns).sum();
        let planted_ns = failed.iter().map(|span| u128::from(span.duration_ns()));
        assert_eq!(calls, failed.len() as u64);
        assert_eq!(time_ns, planted_ns.sum::<u128>());
    }
    assert_eq!(before, 1 << 5, "every set of the ways to fail");
}

#[test]
fn alternations_of_any_length_are_one_rule_with_its_counts() {
    let mut store = SpanStore::default();
    let rounds = [1, 2, 5, 40, 300];
    for (trace_id, &rounds) in (1u128..).zip(&rounds) {
        let mut trace = Trace::new(&mut store, trace_id);
        let copy = trace.begin("copy", 0);
        trace.step("open", copy, false);
        for _ in 0..rounds {
            trace.step("read", copy, false);
            trace.step("write", copy, false);
            trace.step("write", copy, false);
        }
        trace.end(copy, false);
    }
    let profile = profile_of(&store);
    assert_eq!((profile.tree_shapes(), profile.nodes().len()), (1, 4));
    let report = Report::of(&profile, &ReportOptions::default());
    assert_eq!(report.roots[0].times, None);
    let reported = |name: &str| {
        let below = &report.roots[0].children;
        let step = below.iter().find(|step| step.name == name).expect(name);
        let times = step.times.as_ref().expect("it has a caller");
        (times.callers, times.least, times.p50, times.most)
    };
    assert_eq!(reported("open"), (5, 1, 1, 1));
    assert_eq!(reported("read"), (5, 1, 5, 300));
    assert_eq!(reported("write"), (5, 2, 10, 600));
}

#[test]
fn a_final_failure_and_a_concurrent_failure_are_no_retries() {
    let mut store = SpanStore::default();
    let mut trace = Trace::new(&mut store, 1);
    let write = trace.begin("write", 0);
    trace.step("send", write, true);
    trace.step("confirm", write, false);
    // Three copies run concurrently and one of them fails, so the other two copies are no retries.
    let copies: Vec<u64> = (0..3).map(|_| trace.begin("copy", write)).collect();
    for (copy, failed) in copies.into_iter().zip([true, false, false]) {
        trace.end(copy, failed);
    }
    trace.step("close", write, true);
    trace.step("close", write, true);
    trace.end(write, true);
    let profile = profile_of(&store);
    let again: Vec<(&str, u64)> = profile
        .nodes()
        .iter()
        .filter(|node| node.again)
        .map(|node| (profile.name(node), node.statistics.count))
        .collect();
    assert_eq!(again, [("close", 1)]);
    let errors: u64 = profile.nodes().iter().map(|n| n.statistics.errors).sum();
    assert_eq!(errors, 5);
}

/// Expected values for a node. The first three are the number of parent calls that have child calls
/// at the node, the smallest number of child calls per such parent call, and the largest number.
/// The last value says whether the node's calls were retried.
type Figures = (u64, u64, u64, bool);

/// Computes the expected counts and sums of each node directly from the definition of the
/// compression. A node is identified by the path of structures from the root to the node's calls.
/// The value is (number of calls, sum of durations in ns, further values).
fn naive(forest: &Forest) -> BTreeMap<String, (u64, u128, Figures)> {
    let again = |node: u32| {
        let span = &forest.spans[node as usize];
        let parent = forest.parents[node as usize];
        if parent == u32::MAX || !span.status_error {
            return false;
        }
        let key = |node: u32| (forest.spans[node as usize].start_ns, node);
        let same = |other: u32| forest.spans[other as usize].name == span.name;
        let siblings = forest.children.get(parent).iter().copied();
        let last = siblings
            .filter(|&other| same(other))
            .max_by_key(|&other| key(other));
        last.is_some_and(|last| last != node && forest.spans[last as usize].start_ns >= span.end_ns)
    };
    fn structure(forest: &Forest, node: u32, again: &dyn Fn(u32) -> bool) -> String {
        let children = forest.children.get(node).iter();
        let below: BTreeSet<String> = children
            .filter(|&&child| !again(child))
            .map(|&child| structure(forest, child, again))
            .collect();
        let below: Vec<String> = below.into_iter().collect();
        let name = forest.texts.text(forest.spans[node as usize].name);
        format!("{name}({})", below.join(","))
    }
    let mut place_of: Vec<String> = vec![String::new(); forest.spans.len()];
    let mut found: BTreeMap<String, (u64, u128, Figures)> = BTreeMap::new();
    for &node in &forest.order {
        let above = match forest.parents[node as usize] {
            u32::MAX => "",
            parent => &place_of[parent as usize],
        };
        let place = format!("{above}/{}{}", structure(forest, node, &again), again(node));
        let entry = found
            .entry(place.clone())
            .or_insert((0, 0, (0, u64::MAX, 0, again(node))));
        entry.0 += 1;
        entry.1 += u128::from(forest.spans[node as usize].duration_ns());
        place_of[node as usize] = place;
    }
    for parent in 0..forest.spans.len() as u32 {
        let mut times: BTreeMap<&String, u64> = BTreeMap::new();
        for &child in forest.children.get(parent) {
            *times.entry(&place_of[child as usize]).or_default() += 1;
        }
        for (place, times) in times {
            let figures = &mut found.get_mut(place).expect("each call has a place").2;
            *figures = (
                figures.0 + 1,
                figures.1.min(times),
                figures.2.max(times),
                figures.3,
            );
        }
    }
    found
}

fn places_of(profile: &SpanProfile) -> Vec<(u64, u128, Figures)> {
    let mut found: Vec<(u64, u128, Figures)> = Vec::new();
    for node in profile.nodes() {
        let reported = node.repeats.distribution();
        let figures = reported.map_or((0, u64::MAX, 0), |reported| {
            (reported.callers, reported.least, reported.most)
        });
        let sums = (node.statistics.count, node.statistics.total_ns);
        found.push((
            sums.0,
            sums.1,
            (figures.0, figures.1, figures.2, node.again),
        ));
    }
    found.sort_unstable();
    found
}

fn retried_in(roots: &[TreeNode]) -> u64 {
    let own = |node: &TreeNode| if node.again { node.read } else { 0 };
    roots
        .iter()
        .map(|node| own(node) + retried_in(&node.children))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn places_and_counts_are_those_of_the_definition(
        seed: u64, traces in 1u64..30, spans in 1u64..20, names in 1u64..4
    ) {
        let mut store = random_forest(seed, traces, spans, names);
        let mut random = Random(seed);
        for span in &mut store.spans {
            span.status_error = random.below(2) == 0;
        }
        let forest = Forest::recover(store);
        let mut expected: Vec<(u64, u128, Figures)> = naive(&forest).into_values().collect();
        expected.sort_unstable();
        prop_assert_eq!(places_of(&SpanProfile::of(&forest)), expected);
    }

    #[test]
    fn parts_with_faults_merge_in_any_order(seed: u64, traces in 3u64..60, retries in 1u64..6) {
        let store = with_faults(traces, retries, seed);
        let part = |number: u128| {
            let mut part = store.clone();
            part.spans.retain(|span| span.trace_id % 3 == number);
            profile_of(&part)
        };
        let (a, b, c) = (part(0), part(1), part(2));
        let merged = |parts: [&SpanProfile; 3]| {
            let mut sum = SpanProfile::default();
            parts.into_iter().for_each(|part| sum.merge(part));
            sum
        };
        let whole = profile_of(&store);
        prop_assert_eq!(&report_of(&merged([&a, &b, &c])), &report_of(&whole));
        prop_assert_eq!(&report_of(&merged([&c, &a, &b])), &report_of(&whole));
        let report = Report::of(&whole, &ReportOptions::default());
        let entries = report.rankings.ranking.iter();
        let ranked: u128 = entries.map(|entry| entry.again).sum();
        prop_assert_eq!(ranked, u128::from(retried_in(&report.roots)));
    }
}
