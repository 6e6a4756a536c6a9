//! The thresholds by which regular dependencies are inferred (`rules`). The origin of each
//! threshold is in verification/constants.toml.

/// Smallest number of observations from which a regular dependency is inferred. There must be at
/// least this number of segments in the stream, and at least this number of calls of one name on
/// the other logical thread.
pub(super) const ITEMS_MIN: usize = 8;
/// Dependencies are inferred for a stream only if its segments together take at least this fraction
/// of the tree's duration.
pub(super) const SHARE_MIN: f64 = 0.005;
/// Limit of the lag up to which an event counts as the cause of the end of a segment. The lag is
/// the time from the event to the end. The lag may exceed the smallest lag of the stream by at most
/// this fraction of the median time between two consecutive ends.
pub(super) const SLACK: f64 = 0.1;
/// Events are accepted as the cause of a stream's pauses only if they explain at least this
/// fraction of the pauses that are still unexplained.
pub(super) const EXPLAINED_MIN: f64 = 0.4;
/// Largest number of streams of a tree for which dependencies are inferred.
pub(super) const STREAMS_MAX: usize = 400;
/// Limits for attributing a pause that occurs once to a call on another logical thread. The pause
/// must end after the end of the call, by at most `ONCE_SLACK` times its length. Pauses shorter
/// than `ONCE_SHARE` of the tree's duration are ignored.
pub(super) const ONCE_SLACK: f64 = 0.05;
pub(super) const ONCE_SHARE: f64 = 0.01;
/// Minimum number of unexplained pauses that an event must explain, whatever their fraction.
pub(super) const PAUSES_MIN: usize = 3;
/// Limits for deciding that calls are held up by an event although they are not marked as waits.
/// The median duration of the calls that end right after the event must be at least `HELD_UP_RATIO`
/// times the median duration of the other calls. There must be at least `FREE_MIN` other calls.
pub(super) const HELD_UP_RATIO: f64 = 1.2;
pub(super) const FREE_MIN: usize = 3;
