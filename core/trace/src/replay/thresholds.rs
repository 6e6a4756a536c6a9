//! The thresholds by which regular dependencies are inferred (`rules`). The origin of each one is
//! in verification/constants.toml.

/// A regular dependency is inferred only from at least this number of segments of a stream and at
/// least this number of calls of one name on another logical thread.
pub(super) const ITEMS_MIN: usize = 8;
/// Dependencies are inferred only for a stream whose segments take at least this fraction of the
/// tree's duration in sum.
pub(super) const SHARE_MIN: f64 = 0.005;
/// The lag is the time from an event to the end of a segment. The event counts as the cause of the
/// end if the lag exceeds the smallest lag by at most this fraction of the median time between two
/// consecutive ends.
pub(super) const SLACK: f64 = 0.1;
/// Events are accepted as the cause of a stream's pauses only if they explain at least this
/// fraction of the pauses that are still unexplained.
pub(super) const EXPLAINED_MIN: f64 = 0.4;
/// Largest number of streams of a tree for which dependencies are inferred.
pub(super) const STREAMS_MAX: usize = 400;
/// A pause that occurs once is attributed to a call on another logical thread if the pause ends at
/// most `ONCE_SLACK` times its length after the end of the call. Pauses shorter than `ONCE_SHARE`
/// of the tree's duration are ignored.
pub(super) const ONCE_SLACK: f64 = 0.05;
pub(super) const ONCE_SHARE: f64 = 0.01;
/// Minimum number of unexplained pauses that an event must explain, whatever their fraction.
pub(super) const PAUSES_MIN: usize = 3;
/// A call that is not marked as a wait counts as held up by an event if its median duration, when
/// it ends right after the event, exceeds that of the other calls by this factor. There must be at
/// least `FREE_MIN` other calls.
pub(super) const HELD_UP_RATIO: f64 = 1.2;
pub(super) const FREE_MIN: usize = 3;
