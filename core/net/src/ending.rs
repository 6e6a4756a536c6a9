//! The reasons for which a replication (one simulation of a net) ends.

use schemars::JsonSchema;
use serde::Serialize;

/// Number of firings between two checks whether the caller has set the flag that stops a run.
pub(crate) const STOP_INTERVAL: u64 = 1 << 16;

/// The reason for which a replication ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The simulated end time was reached.
    EndTime,
    /// The largest number of firings was reached.
    MaxFirings,
    /// No transition is enabled and no token is in transit, so nothing can fire any more.
    Dead,
    /// A monitor made the number of observations that the options request.
    Until,
    /// The caller set the flag that stops the run.
    Stopped,
}
