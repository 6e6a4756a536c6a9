//! Failed attempts that were retried: a separate rule in the grammar.
//!
//! A call that retries has as many shapes as there are ways to fail: each attempt ends elsewhere,
//! and every set of such ends is another structure. A failed attempt, after which the same caller
//! retried the same step, therefore does not count towards the shape of its caller. It is stored
//! below the caller in separate nodes, with every count, byte and nanosecond, so callers keep the
//! shape that they have without faults.

use std::collections::HashMap;

use crate::shape::Mixing;
use crate::span::{Span, TextId};

/// Marks the retried attempts among the calls of one caller, which are ordered by start.
///
/// The last call of a name is never one: its outcome is the outcome of the step. Neither is a call
/// that was still in progress when the last one began, since it is concurrent, not retried.
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
