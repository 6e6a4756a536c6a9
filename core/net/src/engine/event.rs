//! An event: tokens in transit that arrive at one time.

use crate::marking::bucket::NONE;

/// An event: tokens of one firing that become available at the same time. Events are ordered by
/// time, then by order of creation.
///
/// An event is one number, so that one comparison orders two events, and four events fill a cache
/// line. The number has three parts, from the highest bits to the lowest: the time in nanoseconds
/// (64 bits), the number of the event in order of creation (32 bits), and the first token of the
/// event's linked list of tokens (32 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    /// Stands for the absence of an event. It is later than every event. Its first token is
    /// `bucket::NONE`, which no event has.
    pub(super) const NONE: Self = Self(u128::MAX);

    /// Whether there is no event. The first token shows it in one comparison of a small number.
    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.first_token() == NONE
    }

    #[inline(always)]
    pub(super) fn new(time_ns: u64, number: u32, first_token: u32) -> Self {
        let low = (u64::from(number) << 32) | u64::from(first_token);
        Self((u128::from(time_ns) << 64) | u128::from(low))
    }

    #[inline(always)]
    pub(crate) fn time_ns(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The first token of the event's linked list of tokens.
    #[inline(always)]
    pub(crate) fn first_token(self) -> u32 {
        self.0 as u32
    }
}
