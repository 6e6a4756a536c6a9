//! The types of the report of a run: counts, histograms, summaries and errors. An interrupted run
//! has a report with the same fields.

mod merge;
pub(crate) mod outcome;

use std::collections::BTreeMap;

use dfslab_stats::{Histogram, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::schedule::ScheduleReport;
use crate::record::series::{Second, Steady};

/// Figures of all operations of one type (a logical operation, such as a read of a whole file).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationReport {
    /// Number of successful operations.
    pub count: u64,
    /// Number of failed operations.
    pub errors: u64,
    /// Bytes moved by successful operations.
    pub bytes: u64,
    /// Latencies of successful operations, counted from the actual start of each.
    pub latency: Summary,
    /// The latencies as a histogram, which merges without loss.
    pub histogram: Histogram,
    /// Response times, counted from the scheduled start of each operation; none in a closed
    /// workload.
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
    /// The number of the client, unique in the run.
    pub client: u32,
    /// Start of the client's first operation, seconds after the common start.
    pub first_start_s: f64,
    /// End of the client's last successful operation, seconds after the common start.
    pub last_end_s: f64,
    /// Number of successful operations.
    pub count: u64,
    /// Bytes moved by the client.
    pub bytes: u64,
}

/// Number of errors of one kind in one call of a logical operation, such as `write/close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The work and the call that failed, such as `write/close`.
    pub operation: String,
    /// The kind of the error, by its name in reports.
    pub kind: String,
    /// Number of errors of this step and kind.
    pub count: u64,
    /// The message of the first error of this step and kind.
    pub first: String,
}

/// Result of the check of files whose creation and last change were acknowledged by the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// Number of files checked.
    pub files: u64,
    /// Number of files that hold exactly the bytes that were written.
    pub whole: u64,
    /// Number of files that do not exist.
    pub missing: u64,
    /// Number of files that hold other, fewer or more bytes than were written.
    pub wrong: u64,
    /// Number of files that could not be read: the server does not answer, or another error
    /// occurred.
    pub unreadable: u64,
    /// Number of files left out of the check, because their last change was not acknowledged.
    pub doubtful: u64,
}

impl AuditReport {
    /// Adds the figures of another shard's check.
    pub fn merge(&mut self, other: &AuditReport) {
        self.files += other.files;
        self.whole += other.whole;
        self.missing += other.missing;
        self.wrong += other.wrong;
        self.unreadable += other.unreadable;
        self.doubtful += other.doubtful;
    }
}

/// The caches that were emptied before a phase, or before each of several phases, and what stayed
/// in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheReport {
    /// Which caches were emptied: "none", "files" or "system".
    pub dropped: String,
    /// The result of the check of the page cache. None if the check was not requested or not
    /// possible. In a report on several phases, the bytes are summed.
    #[serde(default)]
    pub proof: Option<Resident>,
}

impl CacheReport {
    /// Merges the report of another shard of the same run.
    pub fn merge(&mut self, other: &CacheReport) {
        if self.dropped != other.dropped {
            self.dropped = "differently".to_string();
        }
        // The merged check is unknown if one of the shards has no check.
        self.proof = self.proof.zip(other.proof).map(|(one, two)| Resident {
            prepared_bytes: one.prepared_bytes + two.prepared_bytes,
            resident_bytes: one.resident_bytes + two.resident_bytes,
        });
    }
}

/// How much of the clients' files was in the page cache before the clients began. At most 64 files
/// of each process are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resident {
    /// Size of the checked files in bytes.
    pub prepared_bytes: u64,
    /// Bytes of the checked files that were in the page cache.
    pub resident_bytes: u64,
}

/// Processor time that this process used in the timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuReport {
    /// Processor time in user mode, seconds.
    pub user: f64,
    /// Processor time in the kernel, seconds.
    pub system: f64,
}

/// The cost of the load generator itself. It shows how much of the measured times the load
/// generator itself causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Processor time of the generator for one operation, ns; measured by executing the same stream
    /// on a target that does nothing.
    pub own_ns_per_op: f64,
    /// Processor time of the cheapest system call, ns.
    pub call_floor_ns: f64,
    /// The generator's processor time for one operation (`own_ns_per_op`), as a fraction of the
    /// mean latency.
    pub share_of_latency: f64,
    /// Lateness of operations with a scheduled start. It is the actual start minus the earliest
    /// possible start. The earliest possible start is the later of two times: the scheduled start,
    /// and the end of the client's previous operation.
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
    /// Successful operations that ended before the stonewall, per second of `stonewall_s`.
    pub stonewall_rate_per_s: f64,
    /// State of the caches at the start of the phase.
    #[serde(default)]
    pub cache: CacheReport,
    /// Figures of each type of logical operation, by the name of the type.
    pub operations: BTreeMap<String, OperationReport>,
    /// End times of successful operations, ns after the start of the phase.
    pub ends: Histogram,
    /// Figures of each second of the phase.
    pub seconds: Vec<Second>,
    /// The steady part of the phase, found by MSER-5; none for a phase of fewer than 21 seconds.
    pub steady: Option<Steady>,
    /// The arrivals that the schedule of the phase requested; none in a closed workload.
    #[serde(default)]
    pub schedule: Option<ScheduleReport>,
}

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadReport")]
pub struct Report {
    /// False when the run was interrupted, exceeded its time limit, or stopped because of errors.
    pub complete: bool,
    /// Time for preparation, timed part, checks and removal of files together, seconds.
    pub wall_s: f64,
    /// Start of the timed part, Unix time in ns.
    pub start_unix_ns: u64,
    /// Time from the agreed start to the release of the clients, seconds.
    pub late_s: f64,
    /// Number of clients.
    pub clients: u32,
    /// Time from the common start to the end of the last operation, seconds.
    pub window_s: f64,
    /// Time from the common start until the first client had completed its operations (the
    /// stonewall), seconds.
    pub stonewall_s: f64,
    /// Successful operations per second of `window_s`.
    pub rate_per_s: f64,
    /// Bytes moved per second of `window_s`.
    pub throughput_bytes_per_s: f64,
    /// Successful operations that ended before the stonewall, per second of `stonewall_s`.
    pub stonewall_rate_per_s: f64,
    /// Figures of each type of logical operation, by the name of the type.
    pub operations: BTreeMap<String, OperationReport>,
    /// Figures of each step of logical operations, by the name of the step, such as `write/close`.
    pub steps: BTreeMap<String, StepReport>,
    /// End times of successful operations, ns after the common start.
    pub ends: Histogram,
    /// Figures of each client.
    pub per_client: Vec<ClientReport>,
    /// Errors that occurred: one entry for each failed call of a logical operation (such as
    /// `write/close`) and each kind of error.
    pub errors: Vec<ErrorCount>,
    /// Number of bytes read whose content was compared with the expected content.
    pub verified_bytes: u64,
    /// Result of the check of files whose last change was acknowledged; none if the check was not
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditReport>,
    /// State of the caches at the start of the timed part.
    pub cache: CacheReport,
    /// Processor time of the process in the timed part.
    pub cpu_s: CpuReport,
    /// Number of spans that were not recorded because the plan's limit was reached.
    pub spans_dropped: u64,
    /// Figures of each second after the common start. Empty if the run has several phases; each
    /// phase then has its separate list.
    #[serde(default)]
    pub seconds: Vec<Second>,
    /// The steady part of the run, found by MSER-5; none for a run of fewer than 21 seconds.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// The arrivals that the schedule requested; none in a closed workload.
    #[serde(default)]
    pub schedule: Option<ScheduleReport>,
    /// Figures of each phase. Empty in a run with one phase. In a run with several phases,
    /// `window_s` and `stonewall_s` of the report are sums over the phases.
    #[serde(default)]
    pub phases: Vec<PhaseReport>,
    /// The cost of the load generator itself.
    #[serde(default)]
    pub generator: GeneratorReport,
    /// Number of calls that layers around the target affected, for each effect: "stalled",
    /// "failed", "timed_out" or "throttled".
    #[serde(default)]
    pub layers: BTreeMap<String, u64>,
}

/// One recorded span: a logical operation, or a step of an operation.
#[derive(Clone, Debug)]
pub struct SpanRecord {
    /// The name of the operation, or of the step within it.
    pub name: String,
    /// Start, Unix time in ns.
    pub start_unix_ns: u64,
    /// End, Unix time in ns.
    pub end_unix_ns: u64,
    /// The span's id: unique in the run, not 0.
    pub span_id: u64,
    /// Id of the span of the logical operation that this step belongs to; 0 for a logical
    /// operation.
    pub parent_id: u64,
    /// The number of the client that made the call.
    pub thread: u32,
    /// Bytes moved by the operation or step.
    pub bytes: u64,
}

/// Figures of a set of calls: a histogram of their durations in ns, the number of errors, and the
/// number of bytes that they moved.
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
