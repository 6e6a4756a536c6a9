//! Spans as programs write them, made trees in one walk.
//!
//! Most programs number their spans as they begin: a call stands behind its caller, and calls of one
//! caller stand in the order of their beginnings. One look at each span then tells all that `tree`
//! finds out in many; whatever is otherwise is left to it.

use crate::span::Span;
use crate::tree::{DEPTH_MAX, NONE};

/// A call whose own calls are coming.
#[derive(Clone, Copy, Debug, Default)]
struct Caller {
    /// When the latest of them began.
    latest_ns: u64,
    /// Up to where they cover it.
    covered_ns: u64,
    depth: u32,
}

/// What a walk over spans found, in memory that the next one uses again.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    callers: Vec<Caller>,
    /// Calls that stick out of their callers.
    pub outside: u64,
}

impl Walk {
    /// Each span's parent and own time, if the spans of each trace, which are in one piece, are
    /// tidy: sound, with rising numbers, each behind its caller and none failed below one; callers
    /// are there and not too deep, and have their calls in order.
    pub fn link(&mut self, spans: &[Span], parents: &mut Vec<u32>, self_ns: &mut Vec<u64>) -> bool {
        parents.resize(spans.len(), NONE);
        self_ns.resize(spans.len(), 0);
        self.callers.resize(spans.len(), Caller::default());
        self.outside = 0;
        // As slices of one length they need no looking after.
        let parents = &mut parents[..spans.len()];
        let self_ns = &mut self_ns[..spans.len()];
        let callers = &mut self.callers[..spans.len()];
        let (mut trace_id, mut first, mut before) = (0, 0, 0);
        // Siblings come in rows.
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

/// Where a span's parent stands among those before it in its trace, which have rising numbers.
fn find(before: &[Span], span: &Span) -> Option<usize> {
    // Numbers without gaps, as one counter gives them, lead straight there.
    let back = span.span_id.wrapping_sub(span.parent_id) as usize;
    let guess = before.len().wrapping_sub(back);
    match before.get(guess) {
        Some(caller) if caller.span_id == span.parent_id => Some(guess),
        _ => before
            .binary_search_by_key(&span.parent_id, |caller| caller.span_id)
            .ok(),
    }
}
