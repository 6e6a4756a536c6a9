//! Tests that the call trees reconstructed from damaged spans equal the trees from which the
//! damaged spans were made.

mod support;

use std::collections::HashMap;

use dfslab_trace::{Forest, Span, SpanLosses, SpanStore, DEPTH_MAX};
use proptest::prelude::*;
use support::{profile_of, random_forest, report_of, Random};

/// Computes the self time of a span from its definition: the nanoseconds of the span that no child
/// covers.
fn self_ns_by_definition(store: &SpanStore, span: &Span) -> u64 {
    let child = |other: &&Span| other.trace_id == span.trace_id && other.parent_id == span.span_id;
    let children: Vec<&Span> = store.spans.iter().filter(child).collect();
    let free = |time: &u64| {
        !children
            .iter()
            .any(|child| child.start_ns <= *time && *time < child.end_ns)
    };
    (span.start_ns..span.end_ns).filter(free).count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn planted_trees_come_back_exactly(seed: u64, traces in 1u64..6, spans in 1u64..25) {
        let planted = random_forest(seed, traces, spans, 4);
        let mut damaged = planted.clone();
        let mut random = Random(seed ^ 1);
        let mut duplicates = 0;
        for index in 0..planted.spans.len() {
            if random.below(4) == 0 {
                damaged.spans.push(planted.spans[index]);
                duplicates += 1;
            }
        }
        random.shuffle(&mut damaged.spans);
        let forest = Forest::recover(damaged.clone());
        prop_assert_eq!(forest.losses.duplicates, duplicates);
        prop_assert_eq!(forest.spans.len(), planted.spans.len());
        let known: HashMap<(u128, u64), &Span> =
            planted.spans.iter().map(|span| ((span.trace_id, span.span_id), span)).collect();
        for (node, span) in forest.spans.iter().enumerate() {
            let truth = known[&(span.trace_id, span.span_id)];
            prop_assert_eq!(span, truth);
            let parent_id = match forest.parents[node] {
                u32::MAX => 0,
                parent => forest.spans[parent as usize].span_id,
            };
            prop_assert_eq!(parent_id, truth.parent_id);
            prop_assert_eq!(forest.self_ns[node], self_ns_by_definition(&planted, truth));
        }
        let outside = planted.spans.iter().filter(|span| {
            known.get(&(span.trace_id, span.parent_id)).is_some_and(|parent| {
                span.start_ns < parent.start_ns || span.end_ns > parent.end_ns
            })
        });
        prop_assert_eq!(forest.losses.outside_parent, outside.count() as u64);
        let mut clean = profile_of(&planted);
        clean.losses = forest.losses.clone();
        prop_assert_eq!(report_of(&profile_of(&damaged)), report_of(&clean));
    }

    #[test]
    fn random_parents_never_hang_and_keep_every_span(seed: u64, spans in 1usize..40) {
        let mut random = Random(seed);
        let mut store = SpanStore::default();
        for span_id in 1..=spans as u64 {
            let parent_id = random.below(spans as u64 + 3);
            let start_ns = random.below(50);
            store.push(Span { trace_id: 1, span_id, parent_id, start_ns, ..Span::default() });
        }
        let forest = Forest::recover(store);
        let losses = &forest.losses;
        prop_assert_eq!(forest.order.len(), spans);
        let declared = forest.spans.iter().filter(|span| span.parent_id == 0).count() as u64;
        let repaired = losses.missing_parents + losses.self_parents + losses.cycles;
        prop_assert_eq!(forest.trees(), declared + repaired);
    }
}

fn line_of(length: u64) -> SpanStore {
    let mut store = SpanStore::default();
    for span_id in 1..=length {
        let parent_id = span_id - 1;
        let (start_ns, end_ns) = (span_id, 3 * length - span_id);
        store.push(Span {
            trace_id: 1,
            span_id,
            parent_id,
            start_ns,
            end_ns,
            ..Span::default()
        });
    }
    store
}

#[test]
fn a_hundred_thousand_levels_lose_nothing_but_their_depth() {
    let length = 100_000u64;
    let store = line_of(length);
    let sum: u128 = store
        .spans
        .iter()
        .map(|span| u128::from(span.duration_ns()))
        .sum();
    let profile = profile_of(&store);
    assert_eq!(profile.losses.deep_spans, length - u64::from(DEPTH_MAX));
    assert_eq!(profile.spans, length);
    let total: u128 = profile
        .nodes()
        .iter()
        .map(|node| node.statistics.total_ns)
        .sum();
    assert_eq!(total, sum);
    // The child on each level of the tree covers all but two nanoseconds of its parent.
    let own: u128 = profile
        .nodes()
        .iter()
        .map(|node| node.statistics.self_ns)
        .sum();
    assert_eq!(own, u128::from(store.spans[0].duration_ns()));
    assert!(report_of(&profile).contains("\"deep_spans\":99800"));
}

#[test]
fn a_ring_breaks_at_its_earliest_member() {
    let mut store = SpanStore::default();
    for (span_id, parent_id, start_ns) in [(1, 3, 30), (2, 1, 10), (3, 2, 20), (9, 2, 40)] {
        let (trace_id, end_ns) = (5, 100);
        store.push(Span {
            trace_id,
            span_id,
            parent_id,
            start_ns,
            end_ns,
            ..Span::default()
        });
    }
    let forest = Forest::recover(store);
    assert_eq!(
        forest.losses,
        SpanLosses {
            cycles: 1,
            ..SpanLosses::default()
        }
    );
    let roots: Vec<u64> = (0..4)
        .filter(|&n| forest.parents[n] == u32::MAX)
        .map(|n| forest.spans[n].span_id)
        .collect();
    assert_eq!(roots, [2]);
}

#[test]
fn of_conflicting_claims_the_longest_stays_whatever_the_order() {
    let claim = |end_ns| Span {
        trace_id: 1,
        span_id: 1,
        end_ns,
        ..Span::default()
    };
    for ends in [[5, 9, 5], [9, 5, 5], [5, 5, 9]] {
        let mut store = SpanStore::default();
        for end_ns in ends {
            store.push(claim(end_ns));
        }
        let forest = Forest::recover(store);
        assert_eq!(forest.spans, [claim(9)]);
        assert_eq!(forest.losses.conflicting_duplicates, 2);
    }
}

#[test]
fn a_span_that_ends_before_it_starts_takes_no_time() {
    let mut store = SpanStore::default();
    store.push(Span {
        trace_id: 1,
        span_id: 1,
        start_ns: 9,
        end_ns: 4,
        ..Span::default()
    });
    let profile = profile_of(&store);
    assert_eq!(profile.losses.end_before_start, 1);
    assert_eq!(profile.nodes()[0].statistics.total_ns, 0);
}
