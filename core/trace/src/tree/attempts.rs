//! Separates retried attempts from other calls, so that faults do not multiply the shapes of call
//! trees.
//!
//! The shape of a call is the structure of the call tree below it. A failed attempt may end at any
//! step. If failed attempts counted, a call with retries would have as many shapes as there are
//! ways to fail. Therefore, a failed attempt that the same caller retried is not part of the
//! caller's shape. Such an attempt is stored below the caller in separate nodes, with all its
//! counts, bytes and nanoseconds.

use std::collections::HashMap;

use crate::span::{Span, TextId};
use crate::tree::shape::Mixing;

/// Sets `again` to true for each failed attempt that was retried, at the index of its span.
/// `siblings` has the indices of the calls of one caller, in order of start.
///
/// Two kinds of calls are never marked. The first is the last call of each name, since no later
/// call retries it. The second is a call that was still in progress when the last call of its name
/// began, since these two calls are concurrent.
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
