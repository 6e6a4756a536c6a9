//! The report of a run: histograms, summaries, errors; partial results have the same shape.

use std::collections::BTreeMap;

use dfslab_stats::{Histogram, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::ScheduleReport;
use crate::series::{Second, Steady};

/// Figures of one type of logical operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationReport {
    /// Number of successful operations.
    pub count: u64,
    /// Number of failed operations.
    pub errors: u64,
    /// Bytes moved by successful operations.
    pub bytes: u64,
    /// Latencies of successful operations, counted from the actual start.
    pub latency: Summary,
    /// The latencies as a histogram, which merges without loss.
    pub histogram: Histogram,
    /// Response times, counted from the scheduled start; none without a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Summary>,
    /// The response times as a histogram, which merges without loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_histogram: Option<Histogram>,
}

/// Figures of one step of a logical operation, such as `write/close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Number of successful calls.
    pub count: u64,
    /// Bytes moved by the calls.
    pub bytes: u64,
    /// Latencies of successful calls.
    pub latency: Summary,
    /// The latencies as a histogram, which merges without loss.
    pub histogram: Histogram,
}

/// Figures of one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// The number of the client.
    pub client: u32,
    /// Start of the client's first operation, seconds after the common start.
    pub first_start_s: f64,
    /// End of the client's last operation, seconds after the common start.
    pub last_end_s: f64,
    /// Number of successful operations.
    pub count: u64,
    /// Bytes moved by the client.
    pub bytes: u64,
}

/// Number of errors of one operation and one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The step that failed.
    pub operation: String,
    /// The kind of the error.
    pub kind: String,
    /// Number of such errors.
    pub count: u64,
    /// The message of the first such error.
    pub first: String,
}

/// Result of the check of files whose creation and last change were acknowledged by the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// Number of files checked.
    pub files: u64,
    /// Files that hold exactly the bytes that were written.
    pub whole: u64,
    /// Files that do not exist.
    pub missing: u64,
    /// Files that hold other, fewer or more bytes than were written.
    pub wrong: u64,
    /// Files that could not be read: the server does not answer, or another error.
    pub unreadable: u64,
    /// Files left out of the check, because their last change was not acknowledged.
    pub doubtful: u64,
}

impl AuditReport {
    /// Adds the audit of another shard.
    pub fn merge(&mut self, other: &AuditReport) {
        self.files += other.files;
        self.whole += other.whole;
        self.missing += other.missing;
        self.wrong += other.wrong;
        self.unreadable += other.unreadable;
        self.doubtful += other.doubtful;
    }
}

/// Caches that were emptied before a phase, or before each of several phases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheReport {
    /// Which caches were emptied: "none", "files" or "system".
    pub dropped: String,
    /// Bytes that stayed in the page cache; none if the check was not requested or not possible. Of
    /// several phases, the sum.
    #[serde(default)]
    pub proof: Option<Resident>,
}

impl CacheReport {
    /// Merges the report of another shard.
    pub fn merge(&mut self, other: &CacheReport) {
        if self.dropped != other.dropped {
            self.dropped = "differently".to_string();
        }
        // The merged figure is unknown unless both shards have the figure.
        self.proof = self.proof.zip(other.proof).map(|(one, two)| Resident {
            prepared_bytes: one.prepared_bytes + two.prepared_bytes,
            resident_bytes: one.resident_bytes + two.resident_bytes,
        });
    }
}

/// Share of the clients' files (at most 64 files of a process) that was in the page cache before
/// the clients began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resident {
    /// Size of the checked files in bytes.
    pub prepared_bytes: u64,
    /// Bytes of the checked files that were in the page cache.
    pub resident_bytes: u64,
}

/// Processor time of this process over the timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuReport {
    /// Processor time in user mode, seconds.
    pub user: f64,
    /// Processor time in the kernel, seconds.
    pub system: f64,
}

/// The cost of the load generator itself, so that it is not attributed to the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Processor time of one operation of the same stream on a target that does nothing, ns.
    pub own_ns_per_op: f64,
    /// Processor time of the cheapest system call, ns.
    pub call_floor_ns: f64,
    /// The generator's processor time for one operation, as a fraction of the mean latency.
    pub share_of_latency: f64,
    /// Lateness of operations with a scheduled start: actual start minus earliest possible start.
    pub late: Summary,
    /// The lateness as a histogram, which merges without loss.
    pub late_histogram: Histogram,
    /// False when the 99th percentile of the lateness exceeds both 100 µs and 1 % of the median
    /// response time. Response times then include delays of the generator.
    pub on_time: bool,
}

/// Figures of one phase of a run with several phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReport {
    /// The name of the phase.
    pub name: String,
    /// Common start of the phase, seconds after the common start of the run.
    pub start_s: f64,
    /// Time from the start of the phase to the end of its last operation, seconds.
    pub window_s: f64,
    /// Time from the start of the phase until the first client had finished the phase, seconds.
    pub stonewall_s: f64,
    /// Number of successful operations.
    pub count: u64,
    /// Bytes moved in the phase.
    pub bytes: u64,
    /// Successful operations per second of `window_s`.
    pub rate_per_s: f64,
    /// Bytes moved per second of `window_s`.
    pub throughput_bytes_per_s: f64,
    /// Successful operations per second, up to the stonewall.
    pub stonewall_rate_per_s: f64,
    /// Cache state at the start of the phase.
    #[serde(default)]
    pub cache: CacheReport,
    /// Figures by type of logical operation.
    pub operations: BTreeMap<String, OperationReport>,
    /// End times of successful operations, ns after the start of the phase.
    pub ends: Histogram,
    /// Figures of each second of the phase.
    pub seconds: Vec<Second>,
    /// Steady state by MSER-5; none for a phase of fewer than 21 seconds.
    pub steady: Option<Steady>,
    /// Arrivals that the schedule of the phase requested; none in a closed workload.
    #[serde(default)]
    pub schedule: Option<ScheduleReport>,
}

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadReport")]
pub struct Report {
    /// False when the run was interrupted, exceeded its time limit, or stopped because of errors.
    pub complete: bool,
    /// Time for preparation, timed part, checks and removal of files, seconds.
    pub wall_s: f64,
    /// Start of the timed part, Unix time in ns.
    pub start_unix_ns: u64,
    /// Delay between the agreed start and the release of the clients, seconds.
    pub late_s: f64,
    /// Number of clients.
    pub clients: u32,
    /// Time from the common start to the end of the last operation, seconds.
    pub window_s: f64,
    /// Time from the common start until the first client had finished, seconds.
    pub stonewall_s: f64,
    /// Successful operations per second of `window_s`.
    pub rate_per_s: f64,
    /// Bytes moved per second of `window_s`.
    pub throughput_bytes_per_s: f64,
    /// Successful operations per second, up to the stonewall.
    pub stonewall_rate_per_s: f64,
    /// Figures by type of logical operation.
    pub operations: BTreeMap<String, OperationReport>,
    /// Figures by step.
    pub steps: BTreeMap<String, StepReport>,
    /// End times of successful operations, ns after the common start.
    pub ends: Histogram,
    /// Figures of each client.
    pub per_client: Vec<ClientReport>,
    /// Errors by operation and kind.
    pub errors: Vec<ErrorCount>,
    /// Bytes whose content was compared with the expected content.
    pub verified_bytes: u64,
    /// Result of the check of acknowledged files; none if the check was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditReport>,
    /// Cache state at the start of the timed part.
    pub cache: CacheReport,
    /// Processor time of the process in the timed part.
    pub cpu_s: CpuReport,
    /// Number of spans that were dropped because of the plan's limit.
    pub spans_dropped: u64,
    /// Figures of each second after the common start; empty in a run with several phases, whose
    /// phases have their own.
    #[serde(default)]
    pub seconds: Vec<Second>,
    /// Steady state by MSER-5; none for a run of fewer than 21 seconds.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// Arrivals that the schedule requested; none in a closed workload.
    #[serde(default)]
    pub schedule: Option<ScheduleReport>,
    /// Figures by phase; empty in a run with one phase. With several phases, the durations of the
    /// run are sums over the phases.
    #[serde(default)]
    pub phases: Vec<PhaseReport>,
    /// The cost of the load generator itself.
    #[serde(default)]
    pub generator: GeneratorReport,
    /// Number of calls affected by layers, by effect: "stalled", "failed", …
    #[serde(default)]
    pub layers: BTreeMap<String, u64>,
}

/// One span: a logical operation, or a step of one.
#[derive(Clone, Debug)]
pub struct SpanRecord {
    /// The operation, or the step in it.
    pub name: String,
    /// Start, Unix time in ns.
    pub start_unix_ns: u64,
    /// End, Unix time in ns.
    pub end_unix_ns: u64,
    /// The span's id: unique in the run, not 0.
    pub span_id: u64,
    /// Id of the logical operation that the span is a step of; 0 for a logical operation.
    pub parent_id: u64,
    /// Number of the client.
    pub thread: u32,
    /// Bytes moved by the call.
    pub bytes: u64,
}

/// A histogram of durations, and the bytes moved in the counted calls.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    pub histogram: Histogram,
    pub bytes: u64,
    pub errors: u64,
}

impl Counted {
    pub fn merge(&mut self, other: &Counted) {
        self.histogram.merge(&other.histogram);
        self.bytes += other.bytes;
        self.errors += other.errors;
    }

    pub fn operation(&self) -> OperationReport {
        OperationReport {
            count: self.histogram.count(),
            errors: self.errors,
            bytes: self.bytes,
            latency: Summary::from(&self.histogram),
            histogram: self.histogram.clone(),
            response: None,
            response_histogram: None,
        }
    }

    pub fn step(&self) -> StepReport {
        StepReport {
            count: self.histogram.count(),
            bytes: self.bytes,
            latency: Summary::from(&self.histogram),
            histogram: self.histogram.clone(),
        }
    }
}
