//! The engine's report on a run. It states for each replication how it ended and what its monitors
//! measured.
//! `report_schema.json` is the JSON Schema of the report. The Python types of the report are
//! generated from this schema.

use std::collections::BTreeMap;

use dfslab_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ending::Reason;

/// The report on all replications of a net.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunReport {
    pub(crate) net: String,
    pub(crate) seed: u64,
    /// The reports on the replications, in the order of the numbers of the replications.
    pub(crate) replications: Vec<ReplicationReport>,
}

/// The report on one replication of a net: its end, its firings and what its monitors measured.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReplicationReport {
    /// The number of the replication.
    pub(crate) replication: u32,
    /// The simulated time at the end.
    pub(crate) end_time_ns: u64,
    pub(crate) firings: u64,
    pub(crate) reason: Reason,
    /// Whether the warm-up ended, so that monitors observed.
    pub(crate) warmed_up: bool,
    /// The reports of the monitors, in the order in which the monitors were requested.
    pub(crate) monitors: Vec<MonitorReport>,
    /// If the replication ended because nothing could fire any more: the places with the most
    /// tokens at that time, and the number of tokens of each. Otherwise empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub(crate) left: BTreeMap<String, usize>,
    /// The queueing stations of the net. Left out if no operational laws of stations were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stations: Option<Vec<StationReport>>,
}

/// What a monitor measured, by the kind of the monitor.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum MonitorReport {
    Count(FiringCount),
    Marking(PlaceMarking),
    Log(Log),
    Sojourn(Box<Sojourn>),
    Value(ObservedValues),
}

/// What a count monitor counted: the firings of a transition.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FiringCount {
    pub(crate) count: u64,
    /// The simulated time for which the monitor observed.
    pub(crate) window_s: f64,
    /// Firings per second of simulated time; null if no time passed.
    pub(crate) rate_per_s: Option<f64>,
}

/// What a marking monitor observed: the number of tokens in a place.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlaceMarking {
    /// The mean number of tokens over time; null if no time passed.
    pub(crate) mean: Option<f64>,
    pub(crate) most: u32,
    /// The number of tokens at the end.
    pub(crate) last: u32,
    /// The simulated time for which the monitor observed.
    pub(crate) window_s: f64,
}

/// A value that a log monitor records. Null stands for a real that is not a number.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Logged {
    Boolean(bool),
    Integer(i64),
    Real(Option<f64>),
    Text(String),
}

/// One firing that a log monitor recorded: its time in nanoseconds, and the values of the monitor's
/// expressions.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogRow(pub(crate) u64, pub(crate) Vec<Logged>);

/// What a log monitor recorded: firings of a transition, in order.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Log {
    /// The number of firings, including those whose rows were dropped.
    pub(crate) count: u64,
    /// The number of firings beyond the limit of the monitor.
    pub(crate) dropped: u64,
    pub(crate) rows: Vec<LogRow>,
}

/// What a sojourn monitor measured. A sojourn is the time from a firing of one transition to a
/// firing of another. All times are 0 if no sojourn was completed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Sojourn {
    #[serde(flatten)]
    pub(crate) times: Summary,
    /// The number of sojourns that started but did not end.
    pub(crate) unfinished: usize,
    /// The number of firings that would end a sojourn but found none that had started.
    pub(crate) unmatched: u64,
}

/// Statistics of the numbers that a value monitor observed. A statistic is null if it is not a
/// finite number, or if there are too few observations to compute it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ObservedValues {
    pub(crate) count: u64,
    #[schemars(with = "Option<f64>")]
    pub(crate) sum: f64,
    pub(crate) mean: Option<f64>,
    pub(crate) sd: Option<f64>,
    pub(crate) least: Option<f64>,
    pub(crate) most: Option<f64>,
    pub(crate) last: Option<f64>,
    /// The mean over the `known_s` seconds for which the monitor had a value.
    pub(crate) time_mean: Option<f64>,
    pub(crate) known_s: f64,
}

/// A queueing station of a net, for which the engine checked operational laws of queueing theory,
/// such as the utilisation law.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StationReport {
    /// The place whose tokens are the free servers.
    pub(crate) idle: String,
    /// The place that a token enters when its service ends.
    pub(crate) served: String,
    pub(crate) servers: usize,
    /// The number of services.
    pub(crate) services: u64,
    /// The mean service time; null if nothing was served.
    pub(crate) service_s_mean: Option<f64>,
    /// The share of the time for which the servers were busy; null if no time passed.
    pub(crate) utilisation: Option<f64>,
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    #[test]
    fn the_checked_in_schema_is_that_of_the_report() {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let schema = generator.into_root_schema_for::<super::RunReport>();
        crate::definition::checked_in::compare(&schema, "report_schema.json");
    }
}
