//! Tests that compression preserves every count, byte and nanosecond, and that profiles can be
//! merged in any order.

mod support;

use std::collections::BTreeMap;

use dfslab_trace::{
    folded, Entry, Report, ReportOptions, Span, SpanProfile, SpanStore, Statistics,
};
use proptest::prelude::*;
use support::{hdfs_like, profile_of, random_forest, report_of};

type Sums = BTreeMap<String, (u64, u64, u128, u128)>;

fn sums_of_spans(store: &SpanStore) -> Sums {
    let mut sums = Sums::new();
    for span in &store.spans {
        let sum = sums
            .entry(store.texts.text(span.name).to_owned())
            .or_default();
        sum.0 += 1;
        sum.1 += u64::from(span.status_error);
        sum.2 += u128::from(span.bytes);
        sum.3 += u128::from(span.duration_ns());
    }
    sums
}

fn sums_of_profile(profile: &SpanProfile) -> Sums {
    let mut sums = Sums::new();
    for node in profile.nodes() {
        let sum = sums.entry(profile.name(node).to_owned()).or_default();
        sum.0 += node.statistics.count;
        sum.1 += node.statistics.errors;
        sum.2 += node.statistics.bytes;
        sum.3 += node.statistics.total_ns;
    }
    sums
}

/// Returns the profile of every third trace, beginning with trace `number`.
fn part(store: &SpanStore, number: u128) -> SpanProfile {
    let mut part = store.clone();
    part.spans
        .retain(|span| (span.trace_id >> 64) % 3 == number);
    profile_of(&part)
}

fn merged(profiles: &[&SpanProfile]) -> SpanProfile {
    let mut sum = SpanProfile::default();
    for profile in profiles {
        sum.merge(profile);
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_sum_survives(seed: u64, traces in 1u64..40, spans in 1u64..30, names in 1u64..5) {
        let store = random_forest(seed, traces, spans, names);
        let profile = profile_of(&store);
        prop_assert_eq!(sums_of_profile(&profile), sums_of_spans(&store));
        prop_assert_eq!(profile.trees, traces);
        prop_assert!(profile.nodes().len() <= store.spans.len());
    }

    #[test]
    fn merging_is_associative_and_commutative(seed: u64, traces in 1u64..90, names in 1u64..4) {
        let store = random_forest(seed, traces, 6, names);
        let (a, b, c) = (part(&store, 0), part(&store, 1), part(&store, 2));
        let whole = report_of(&profile_of(&store));
        prop_assert_eq!(&report_of(&merged(&[&a, &b, &c])), &whole);
        prop_assert_eq!(&report_of(&merged(&[&c, &a, &b])), &whole);
        let (left, right) = (merged(&[&a, &b]), merged(&[&b, &c]));
        prop_assert_eq!(&report_of(&merged(&[&left, &c])), &whole);
        prop_assert_eq!(&report_of(&merged(&[&a, &right])), &whole);
    }
}

#[test]
fn a_trace_like_those_of_hdfs_shrinks_by_more_than_99_per_cent() {
    let store = hdfs_like(600, 1);
    let profile = profile_of(&store);
    let report = Report::of(&profile, &ReportOptions::default());
    assert_eq!(report.shapes, 2, "with and without a mirror");
    assert!(
        report.reduction.trees_removed > 0.99,
        "{:?}",
        report.reduction
    );
    assert!(
        report.reduction.spans_removed > 0.999,
        "{:?}",
        report.reduction
    );
    assert_eq!(sums_of_profile(&profile), sums_of_spans(&store));
}

#[test]
fn quantiles_stay_within_one_per_cent_and_exemplars_are_real() {
    let store = hdfs_like(50, 2);
    let profile = profile_of(&store);
    let duration = |id: u64| {
        store
            .spans
            .iter()
            .find(|span| span.span_id == id)
            .map(|span| span.duration_ns())
    };
    let packet = store.spans[3].name;
    let mut exact: Vec<u64> = Vec::new();
    exact.extend(
        store
            .spans
            .iter()
            .filter(|s| s.name == packet)
            .map(|s| s.duration_ns()),
    );
    exact.sort_unstable();
    let mut packets = Statistics::default();
    for node in profile.nodes() {
        let statistics = &node.statistics;
        for exemplar in statistics.slowest().iter().chain(statistics.sampled()) {
            assert_eq!(duration(exemplar.span_id), Some(exemplar.duration_ns));
        }
        if profile.name(node) == "receivePacket" {
            packets.merge(statistics);
        }
    }
    assert_eq!(packets.count as usize, exact.len());
    for fraction in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999] {
        // The exact quantile is the smallest duration that at least this fraction of all durations
        // does not exceed.
        let rank = (fraction * exact.len() as f64).ceil() as usize - 1;
        let error = packets.quantile_ns(fraction) as f64 / exact[rank] as f64 - 1.0;
        assert!(error.abs() < 0.01, "quantile {fraction} is off by {error}");
    }
    assert_eq!(
        Some(&packets.slowest()[0].duration_ns),
        exact.last(),
        "the slowest is kept"
    );
}

#[test]
fn waits_stand_apart_and_shares_add_up() {
    let profile = profile_of(&hdfs_like(9, 3));
    let options = ReportOptions {
        wait_patterns: vec!["mirror*".to_owned()],
        ..ReportOptions::default()
    };
    let rankings = Report::of(&profile, &options).rankings;
    let paths: Vec<&str> = rankings
        .waits
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert_eq!(paths, ["write/receiveBlock/receivePacket/mirrorWrite"]);
    assert!(rankings
        .ranking
        .iter()
        .all(|entry| entry.name != "mirrorWrite"));
    let entries = || rankings.ranking.iter().chain(&rankings.waits);
    let share: f64 = entries().map(|entry| entry.share).sum();
    assert!((share - 1.0).abs() < 1e-12);
    let self_ns: Vec<i128> = rankings.ranking.iter().map(|entry| entry.self_ns).collect();
    assert!(self_ns.is_sorted_by(|left, right| left >= right));
    let limited = ReportOptions {
        ranking_limit: 2,
        ..ReportOptions::default()
    };
    let short = Report::of(&profile, &limited).rankings;
    assert_eq!((short.ranking.len(), short.ranking_by_name.len()), (2, 2));
    assert_eq!(short.ranking_beyond_limit, 8);
}

#[test]
fn a_name_is_ranked_with_the_paths_on_which_it_works() {
    let mut store = SpanStore::default();
    let names = ["get", "put", "flush"].map(|name| store.intern(name));
    for (trace_id, root, waits) in [(1, 0, false), (2, 1, true)] {
        for (span_id, parent_id, name) in [(1, 0, names[root]), (2, 1, names[2])] {
            store.spans.push(Span {
                trace_id,
                span_id,
                parent_id,
                name,
                start_ns: 5,
                end_ns: 105,
                wait: waits && span_id == 2,
                ..Span::default()
            });
        }
    }
    let found = Report::of(&profile_of(&store), &ReportOptions::default()).rankings;
    let paths = |entries: &[Entry]| -> Vec<String> {
        entries.iter().map(|entry| entry.path.clone()).collect()
    };
    assert_eq!(paths(&found.ranking), ["get/flush", "get", "put"]);
    assert_eq!(paths(&found.waits), ["put/flush"]);
    assert_eq!(paths(&found.ranking_by_name), ["flush", "get", "put"]);
    assert_eq!(found.ranking_by_name[0].self_ns, 100);
}

#[test]
fn folded_stacks_hold_every_nanosecond_of_self_time() {
    let profile = profile_of(&random_forest(4, 30, 20, 3));
    let text = folded(&profile);
    let sum: u128 = text
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u128>().unwrap())
        .sum();
    let own: u128 = profile
        .nodes()
        .iter()
        .map(|node| node.statistics.self_ns)
        .sum();
    assert_eq!(sum, own);
    assert!(text.lines().any(|line| line.starts_with("call 0;call 1")));
}
