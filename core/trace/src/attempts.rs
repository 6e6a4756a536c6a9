//! Attempts that failed before the same step was made again: a rule of their own in the grammar.
//!
//! A call that retries has as many shapes as there are ways to fail: each attempt ends elsewhere,
//! and every set of such ends is another structure. So an attempt that failed, and after which the
//! same caller made the same step again, says nothing about the shape of its caller. It hangs below
//! it in places of its own, with every count, byte and nanosecond; however often and wherever
//! attempts fail, callers keep the shape that they have without faults.

use std::collections::HashMap;

use crate::shape::Mixing;
use crate::span::{Span, TextId};

/// Marks the attempts among the calls of one caller, which are in the order of their starts.
///
/// The last call of a name is never one: how it ended is how the step ended. Neither is a call
/// that was still going on when the last one began, as one of several at the same time.
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
