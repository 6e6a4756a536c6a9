//! Assigns trace ids to spans that were recorded without trace ids by one process.

use std::collections::HashMap;

use crate::span::SpanStore;
use crate::tree::shape::{digest_of, mix};

/// Gives all spans of a call tree the same trace id. The id is derived from the tree's service,
/// first start and smallest span id. The same spans therefore always get the same trace id. Trees
/// of two processes get different trace ids even if their span ids are equal.
pub fn assign_trace_ids(store: &mut SpanStore) {
    let places: HashMap<u64, u32> = (0u32..)
        .zip(&store.spans)
        .map(|(place, span)| (span.span_id, place))
        .collect();
    // The trees are found by union-find over the links from children to parents. Walking from each
    // span to its root would not end if parents form a cycle; union-find does.
    let mut links: Vec<u32> = (0..store.spans.len() as u32).collect();
    for (place, span) in (0u32..).zip(&store.spans) {
        for other in [span.span_id, span.parent_id] {
            if let Some(&known) = places.get(&other) {
                let (left, right) = (leader(&mut links, place), leader(&mut links, known));
                links[left.max(right) as usize] = left.min(right);
            }
        }
    }
    let mut firsts: HashMap<u32, (u64, u64)> = HashMap::new();
    for (place, span) in (0u32..).zip(&store.spans) {
        let first = firsts
            .entry(leader(&mut links, place))
            .or_insert((u64::MAX, u64::MAX));
        *first = (first.0.min(span.start_ns), first.1.min(span.span_id));
    }
    for place in 0..store.spans.len() {
        let (start_ns, span_id) = firsts[&leader(&mut links, place as u32)];
        let span = &mut store.spans[place];
        let service = digest_of(store.texts.text(span.service));
        span.trace_id = u128::from(mix(service ^ mix(start_ns))) << 64 | u128::from(span_id);
    }
}

/// Returns the index of the span that represents a tree (the leader in union-find). `place` is the
/// index of any span of the tree. Shortens the chain of `links` to the leader on the way (path
/// halving).
fn leader(links: &mut [u32], mut place: u32) -> u32 {
    while links[place as usize] != place {
        let above = links[links[place as usize] as usize];
        links[place as usize] = above;
        place = above;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Span;

    fn trace_ids(parents: &[(u64, u64)], service: &str) -> Vec<u128> {
        let mut store = SpanStore::default();
        let service = store.texts.intern(service);
        for &(span_id, parent_id) in parents {
            store.spans.push(Span {
                span_id,
                parent_id,
                service,
                ..Span::default()
            });
        }
        assign_trace_ids(&mut store);
        store.spans.iter().map(|span| span.trace_id).collect()
    }

    #[test]
    fn one_id_a_tree_even_for_rings_and_orphans() {
        let parents = [(3, 2), (1, 0), (2, 1), (4, 99), (5, 6), (6, 5), (7, 0)];
        let ids = trace_ids(&parents, "load");
        assert_eq!(ids[0..3], [ids[0]; 3]);
        assert_eq!(ids[4], ids[5]);
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!((distinct.len(), distinct.contains(&0)), (4, false));
        assert_eq!(ids, trace_ids(&parents, "load"));
        assert!(ids
            .iter()
            .all(|id| !trace_ids(&parents, "other").contains(id)));
    }
}
