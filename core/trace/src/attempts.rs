//! Separates retried attempts from other calls, so that faults do not multiply the shapes of call
//! trees.
//!
//! A call with retries has as many shapes as there are ways to fail, since each attempt may end at
//! another step. So a failed attempt that the same caller retried does not count towards the
//! caller's shape. The attempt is stored below the caller in separate nodes, with all its counts,
//! bytes and nanoseconds.

use std::collections::HashMap;

use crate::shape::Mixing;
use crate::span::{Span, TextId};

/// Sets `again` for each failed attempt that was retried, among the calls of one caller
/// (`siblings`, ordered by start).
///
/// The last call of a name is never marked, since its outcome is that of the step. A call that was
/// still in progress when the last call of its name began is not marked either, since it is
/// concurrent, not retried.
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
