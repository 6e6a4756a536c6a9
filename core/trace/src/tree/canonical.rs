//! Reconstructs call trees in one pass from spans in canonical form.
//!
//! Most programs number their spans in order of start. When such spans are sorted by number, each
//! call follows its caller, and the calls of one caller are in order of start. One pass then yields
//! what the module `tree` computes in several passes. Spans in any other form are left to the
//! module `tree`.

use crate::span::{Span, DEPTH_MAX, NONE};

/// A caller whose calls are being visited.
#[derive(Clone, Copy, Debug, Default)]
struct Caller {
    /// Start of the caller's latest call so far, ns.
    latest_ns: u64,
    /// Time up to which the duration of the caller is covered by its calls visited so far, ns.
    covered_ns: u64,
    depth: u32,
}

/// The state of a pass over the spans. Its memory is reused for the next pass.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    callers: Vec<Caller>,
    /// Number of calls that extend beyond the time of their callers.
    pub outside: u64,
}

impl Walk {
    /// Computes the parent (`parents`) and the self time (`self_ns`) of each span if the spans are
    /// in canonical form. Returns whether the spans are in this form.
    ///
    /// In canonical form:
    /// - The spans of each trace are contiguous, and their ids ascend.
    /// - Each span follows its caller, and the calls of a caller are ordered by start.
    /// - No span ends before it starts.
    /// - No call below a root failed.
    /// - No call is below the level `DEPTH_MAX`.
    pub fn link(&mut self, spans: &[Span], parents: &mut Vec<u32>, self_ns: &mut Vec<u64>) -> bool {
        parents.resize(spans.len(), NONE);
        self_ns.resize(spans.len(), 0);
        self.callers.resize(spans.len(), Caller::default());
        self.outside = 0;
        // All slices get equal lengths, which makes bounds checks in the loop unnecessary.
        let parents = &mut parents[..spans.len()];
        let self_ns = &mut self_ns[..spans.len()];
        let callers = &mut self.callers[..spans.len()];
        let (mut trace_id, mut first, mut before) = (0, 0, 0);
        // Siblings are usually adjacent, so the parent of the previous span is tried first.
        let mut latest = (0, 0);
        for (node, span) in spans.iter().enumerate() {
            if span.trace_id != trace_id {
                (trace_id, first, before, latest) = (span.trace_id, node, 0, (0, 0));
            }
            if span.span_id <= before || span.end_ns < span.start_ns {
                return false;
            }
            before = span.span_id;
            let (mut parent, mut depth) = (NONE, 1);
            if span.parent_id != 0 {
                if span.parent_id != latest.0 {
                    let Some(place) = find(&spans[first..node], span) else {
                        return false;
                    };
                    latest = (span.parent_id, first + place);
                }
                let (caller, around) = (&mut callers[latest.1], &spans[latest.1]);
                let in_order = span.start_ns >= caller.latest_ns;
                if !in_order || span.status_error || caller.depth == DEPTH_MAX {
                    return false;
                }
                caller.latest_ns = span.start_ns;
                let inside = span.start_ns >= around.start_ns && span.end_ns <= around.end_ns;
                self.outside += u64::from(!inside);
                let start_ns = span.start_ns.max(caller.covered_ns);
                let end_ns = span.end_ns.min(around.end_ns);
                if end_ns > start_ns {
                    self_ns[latest.1] -= end_ns - start_ns;
                    caller.covered_ns = end_ns;
                }
                (parent, depth) = (latest.1 as u32, caller.depth + 1);
            }
            parents[node] = parent;
            self_ns[node] = span.end_ns - span.start_ns;
            callers[node] = Caller {
                latest_ns: 0,
                covered_ns: span.start_ns,
                depth,
            };
        }
        true
    }
}

/// Finds the position of a span's parent among the earlier spans of its trace, whose ids ascend.
/// None if the parent is not among them.
fn find(before: &[Span], span: &Span) -> Option<usize> {
    // If the ids of a trace are consecutive numbers, as those of a counter are, the parent's
    // position follows from the difference of the two ids.
    let back = span.span_id.wrapping_sub(span.parent_id) as usize;
    let guess = before.len().wrapping_sub(back);
    match before.get(guess) {
        Some(caller) if caller.span_id == span.parent_id => Some(guess),
        _ => before
            .binary_search_by_key(&span.parent_id, |caller| caller.span_id)
            .ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{SpanStore, Texts};
    use crate::tree::Forest;
    use proptest::prelude::*;

    /// Creates two traces in canonical form. In each trace, ids ascend with gaps, and calls begin
    /// one after the other.
    fn tidy(shape: &[(usize, u64, u64)]) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for trace_id in [9, 4] {
            let first = spans.len();
            for (place, &(above, gap, duration)) in shape.iter().enumerate() {
                let before = spans[first..].last().copied().unwrap_or_default();
                let caller = spans
                    .get(first + above % place.max(1))
                    .filter(|_| place > 0);
                let start_ns = before.start_ns + gap % 7;
                spans.push(Span {
                    trace_id,
                    span_id: before.span_id + 1 + gap % 3,
                    parent_id: caller.map_or(0, |caller| caller.span_id),
                    start_ns,
                    end_ns: start_ns + duration,
                    ..Span::default()
                });
            }
        }
        spans
    }

    /// Compares the one-pass algorithm with the general algorithm of the module `tree`. Both
    /// reconstruct the call trees of the spans, and the results must be equal. Returns whether the
    /// one-pass algorithm accepted the spans.
    fn compared(spans: &[Span]) -> bool {
        let store = SpanStore {
            spans: spans.to_vec(),
            ..SpanStore::default()
        };
        let mut sorted = spans.to_vec();
        sorted.sort_by_key(|span| span.trace_id);
        let (short, long) = (
            Forest::of_traces(sorted.clone(), Texts::default()),
            Forest::recover(store),
        );
        assert_eq!(short.spans, long.spans);
        assert_eq!(short.parents, long.parents);
        assert_eq!(short.self_ns, long.self_ns);
        assert_eq!(short.again, long.again);
        assert_eq!(short.losses, long.losses);
        for node in 0..short.spans.len() as u32 {
            assert_eq!(short.children.get(node), long.children.get(node));
        }
        assert_eq!(short.order, long.order);
        let (mut parents, mut self_ns) = (vec![7; 99], Vec::new());
        Walk::default().link(&sorted, &mut parents, &mut self_ns)
    }

    proptest! {
        #[test]
        fn one_walk_finds_what_many_find(
            shape in prop::collection::vec((0usize..9, 0u64..30, 0u64..40), 1..60)
        ) {
            prop_assert!(compared(&tidy(&shape)));
        }

        #[test]
        fn what_is_not_tidy_is_left_to_others(
            shape in prop::collection::vec((0usize..9, 0u64..30, 0u64..40), 2..30),
            at: prop::sample::Index, what in 0..7, other: prop::sample::Index,
        ) {
            let mut spans = tidy(&shape);
            let (at, other) = (at.index(spans.len()), other.index(spans.len()));
            match what {
                0 => spans[at].parent_id = spans[other].span_id,
                1 => spans[at].parent_id = 9999,
                2 => spans[at].span_id = spans[other].span_id,
                3 => spans[at].start_ns += 50,
                4 => spans[at].status_error = true,
                5 => spans[at].trace_id = spans[other].trace_id,
                _ => (spans[at].start_ns, spans[at].end_ns) = (3, 2),
            }
            compared(&spans);
        }
    }

    #[test]
    fn each_untidiness_is_noticed() {
        let usual = tidy(&[(0, 1, 90), (0, 1, 20), (0, 25, 20), (1, 1, 5)]);
        let changed = |change: fn(&mut [Span])| {
            let mut spans = usual.clone();
            change(&mut spans);
            compared(&spans)
        };
        assert!(changed(|_| ()));
        assert!(!changed(|spans| spans[2].span_id = 1));
        assert!(!changed(|spans| spans[1].end_ns = 0));
        assert!(!changed(|spans| spans[1].start_ns = 30));
        assert!(!changed(|spans| spans[1].parent_id = spans[1].span_id));
        assert!(!changed(|spans| spans[1].parent_id = spans[2].span_id));
        assert!(!changed(|spans| spans[1].parent_id = 77));
        assert!(!changed(|spans| spans[2].status_error = true));
        assert!(changed(|spans| spans[0].status_error = true));
    }

    #[test]
    fn the_deepest_level_is_the_last() {
        let chain = |levels: u32| -> Vec<Span> {
            let span = |level| Span {
                trace_id: 1,
                span_id: level,
                parent_id: level - 1,
                end_ns: 10,
                ..Span::default()
            };
            (1..=u64::from(levels)).map(span).collect()
        };
        assert!(compared(&chain(DEPTH_MAX)));
        assert!(!compared(&chain(DEPTH_MAX + 1)));
    }
}
