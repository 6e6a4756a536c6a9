//! Separates retried attempts from other calls, so that faults do not multiply the shapes of call
//! trees.
//!
//! The shape of a call is the structure of the call tree below it. A call with retries would have
//! as many shapes as there are ways to fail, since each attempt may end at another step. So a
//! failed attempt that the same caller retried does not count towards the caller's shape. The
//! attempt is stored below the caller in separate nodes, with all its counts, bytes and
//! nanoseconds.

use std::collections::HashMap;

use crate::span::{Span, TextId};
use crate::tree::shape::Mixing;

/// Sets `again` to true at the index of each span that is a failed attempt which was retried.
/// `siblings` has the indices of the calls of one caller, in order of start.
///
/// The last call of each name is never marked, since no later call retries it. A call that was
/// still in progress when the last call of its name began is not marked either, since the two calls
/// are concurrent.
pub fn mark(spans: &[Span], siblings: &[u32], again: &mut [bool]) {
    let mut latest_start_ns: HashMap<TextId, u64, Mixing> = HashMap::default();
    for &sibling in siblings.iter().rev() {
        let span = &spans[sibling as usize];
        match latest_start_ns.get(&span.name) {
            Some(&start_ns) => {
                again[sibling as usize] = span.status_error && start_ns >= span.end_ns;
            }
            None => drop(latest_start_ns.insert(span.name, span.start_ns)),
        }
    }
}
