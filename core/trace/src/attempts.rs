//! Retried attempts get a separate rule in the grammar.
//!
//! A call with retries has as many shapes as there are ways to fail: each attempt may end at
//! another step. A failed attempt that the same caller retried therefore does not count towards the
//! caller's shape. The attempt is stored below the caller in separate nodes, with all its counts,
//! bytes and nanoseconds, so that a caller has the same shape with and without faults.

use std::collections::HashMap;

use crate::shape::Mixing;
use crate::span::{Span, TextId};

/// Marks the retried attempts among the calls of one caller, which are ordered by start.
///
/// The last call of a name is never marked: its outcome is that of the step. A call that was still
/// in progress when the last one began is not marked either, since it is concurrent, not retried.
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
