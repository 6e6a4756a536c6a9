//! Tests that the sums by host equal the sums of a naive computation, in any order of merging.

mod support;

use std::collections::BTreeMap;

use dfslab_trace::{Forest, Report, ReportOptions, SpanProfile, SpanStore, TreeNode};
use support::{random_forest, Random};

const HOSTS: u64 = 4;

/// Creates random trees in which each span belongs to one of a few hosts, or to no known host.
fn several_hosts(seed: u64) -> SpanStore {
    let (mut store, mut random) = (random_forest(seed, 300, 12, 5), Random(seed));
    for at in 0..store.spans.len() {
        let host = match random.below(HOSTS) {
            0 => String::new(),
            number => format!("node-{number}"),
        };
        store.spans[at].host = store.intern(&host);
    }
    store
}

fn profile_of(store: &SpanStore) -> SpanProfile {
    SpanProfile::of(&Forest::recover(store.clone()))
}

/// Distributes the traces of a store over `parts` stores. All spans of a trace are put into the
/// same store.
fn dealt(store: &SpanStore, parts: u128) -> Vec<SpanStore> {
    let part = |number| SpanStore {
        spans: store
            .spans
            .iter()
            .filter(|span| (span.trace_id >> 64) % parts == number)
            .copied()
            .collect(),
        texts: store.texts.clone(),
        ..SpanStore::default()
    };
    (0..parts).map(part).collect()
}

type Sums = BTreeMap<(String, String), (u64, u128, i128)>;

/// Adds the number of calls, bytes and durations in a report's trees to `sums`, by name and host.
fn add_sums(roots: &[TreeNode], sums: &mut Sums) {
    for node in roots {
        let all: u64 = node.of.values().map(|of| of.0).sum();
        assert_eq!(all, node.read, "{}: every call is somebody's", node.name);
        let own: i128 = node.of.values().map(|of| of.1).sum();
        assert_eq!(own, node.self_ns);
        for (host, of) in &node.of {
            let sum = sums.entry((node.name.clone(), host.clone())).or_default();
            *sum = (sum.0 + of.0, sum.1 + of.2, sum.2 + of.3);
        }
        add_sums(&node.children, sums);
    }
}

#[test]
fn sums_by_host_are_those_of_the_spans() {
    let store = several_hosts(6);
    let mut naive = Sums::new();
    for span in &store.spans {
        let text = |id| store.texts.text(id).to_owned();
        let sum = naive.entry((text(span.name), text(span.host))).or_default();
        let (bytes, took) = (u128::from(span.bytes), i128::from(span.duration_ns()));
        *sum = (sum.0 + 1, sum.1 + bytes, sum.2 + took);
    }
    let report = Report::of(&profile_of(&store), &ReportOptions::default());
    let mut found = Sums::new();
    add_sums(&report.roots, &mut found);
    assert_eq!(found, naive);
}

#[test]
fn any_order_of_merging_gives_the_same_hosts() {
    let store = several_hosts(7);
    let whole = Report::of(&profile_of(&store), &ReportOptions::default());
    let mut parts: Vec<SpanProfile> = dealt(&store, 5).iter().map(profile_of).collect();
    let mut random = Random(9);
    for _ in 0..4 {
        random.shuffle(&mut parts);
        let mut merged = SpanProfile::default();
        parts.iter().for_each(|part| merged.merge(part));
        assert_eq!(
            Report::of(&merged, &ReportOptions::default()).roots,
            whole.roots
        );
    }
}

#[test]
fn a_trace_of_one_host_reports_no_hosts() {
    let mut store = random_forest(8, 50, 12, 5);
    for at in 0..store.spans.len() {
        store.spans[at].host = store.intern("node-1");
    }
    let report = Report::of(&profile_of(&store), &ReportOptions::default());
    assert!(report.roots.iter().all(|root| root.of.is_empty()));
}

#[test]
fn the_deviation_of_a_host_is_its_own() {
    let mut store = SpanStore::default();
    let (name, hosts) = (
        store.intern("read"),
        ["a", "b"].map(|host| store.intern(host)),
    );
    for (number, (host, took)) in [(0, 10), (1, 100), (0, 30), (1, 100)]
        .into_iter()
        .enumerate()
    {
        let trace_id = number as u128 + 1;
        store.push(dfslab_trace::Span {
            trace_id,
            span_id: 1,
            name,
            host: hosts[host],
            start_ns: 5,
            end_ns: 5 + took,
            ..Default::default()
        });
    }
    let report = Report::of(&profile_of(&store), &ReportOptions::default());
    let of = &report.roots[0].of;
    assert_eq!((of["a"].0, of["a"].3, of["a"].4), (2, 40, Some(10.0)));
    assert_eq!((of["b"].0, of["b"].3, of["b"].4), (2, 200, Some(0.0)));
}

#[test]
fn what_the_recorder_calls_a_wait_is_one() {
    let mut store = random_forest(3, 20, 6, 3);
    let waits = store.intern("call 1");
    for span in &mut store.spans {
        span.wait = span.name == waits;
    }
    let profile = profile_of(&store);
    let report = Report::of(&profile, &ReportOptions::default());
    let rankings = &report.rankings;
    assert!(!rankings.waits.is_empty());
    assert!(rankings.waits.iter().all(|entry| entry.name == "call 1"));
    assert!(rankings.ranking.iter().all(|entry| entry.name != "call 1"));
    for root in &report.roots {
        let kind = if root.name == "call 1" {
            "blocked"
        } else {
            "service"
        };
        assert_eq!(root.kind, kind);
    }
}
