//! The tokens of one firing that become available together.

use super::event_list::NO_LINE;
use crate::marking::bucket::NONE;

/// Linked tokens of one firing that become available at the same time `due_ns`.
pub(crate) struct Chain {
    /// The delay of the transition in ns, which is added to the delay of every output arc.
    pub(super) base_ns: u64,
    pub(crate) first: u32,
    pub(super) last: u32,
    pub(crate) due_ns: u64,
    /// The line of the event list for these tokens.
    pub(crate) line: u8,
}

impl Chain {
    pub(crate) fn new(base_ns: u64) -> Self {
        Self {
            base_ns,
            first: NONE,
            last: NONE,
            due_ns: 0,
            line: NO_LINE,
        }
    }
}
