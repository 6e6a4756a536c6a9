//! What a run says: histograms, summaries, errors; partial results have the same shape.

use std::collections::BTreeMap;

use dfslab_stats::{Histogram, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::ScheduleReport;
use crate::series::{Second, Steady};

/// One logical operation kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationReport {
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Bytes moved by the successful ones.
    pub bytes: u64,
    /// Latency of the successful ones.
    pub latency: Summary,
    /// The same, without loss.
    pub histogram: Histogram,
    /// Time from the intended start to the end, where operations have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Summary>,
    /// The same, without loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_histogram: Option<Histogram>,
}

/// One primitive inside a logical operation, such as `write/close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Calls that succeeded.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latency of the calls.
    pub latency: Summary,
    /// The same, without loss.
    pub histogram: Histogram,
}

/// One client's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientReport {
    /// Its number.
    pub client: u32,
    /// When its first operation began, after the common start.
    pub first_start_s: f64,
    /// When its last operation ended.
    pub last_end_s: f64,
    /// Operations that succeeded.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// Errors of one operation and kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The step that failed.
    pub operation: String,
    /// What went wrong.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// The first of them.
    pub first: String,
}

/// What became of the files whose making and last change were acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// Files that had to be there.
    pub files: u64,
    /// Of these, as they were written, from the first byte to the last.
    pub whole: u64,
    /// Not there.
    pub missing: u64,
    /// There with other bytes, fewer or more.
    pub wrong: u64,
    /// Not to be read: nobody answers, or another error.
    pub unreadable: u64,
    /// Other files, whose last change was not acknowledged: nothing is promised of these.
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

/// What was emptied before a phase, or before each of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CacheReport {
    /// "none", "files" or "system".
    pub dropped: String,
    /// Bytes that stayed cached nevertheless, where requested and measurable; of all phases
    /// together.
    #[serde(default)]
    pub proof: Option<Resident>,
}

impl CacheReport {
    /// Merges the report of another shard.
    pub fn merge(&mut self, other: &CacheReport) {
        if self.dropped != other.dropped {
            self.dropped = "differently".to_string();
        }
        // The figure is unknown unless all shards know theirs.
        self.proof = self.proof.zip(other.proof).map(|(one, two)| Resident {
            prepared_bytes: one.prepared_bytes + two.prepared_bytes,
            resident_bytes: one.resident_bytes + two.resident_bytes,
        });
    }
}

/// What of the clients' files, up to 64 of a process, was in the page cache before they began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resident {
    /// Bytes of the files that were looked at.
    pub prepared_bytes: u64,
    /// Bytes of theirs in the cache.
    pub resident_bytes: u64,
}

/// Processor time of this process over the timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuReport {
    /// In user mode, seconds.
    pub user: f64,
    /// In the kernel, seconds.
    pub system: f64,
}

/// What the generator itself adds, so that nobody takes it for the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorReport {
    /// Processor time of one operation of this very stream on a target that does nothing, ns.
    pub own_ns_per_op: f64,
    /// Processor time of the cheapest call into the kernel, ns.
    pub call_floor_ns: f64,
    /// The generator's own time over the mean time of an operation.
    pub share_of_latency: f64,
    /// How much later than they could have operations with an intended start began.
    pub late: Summary,
    /// The same, without loss.
    pub late_histogram: Histogram,
    /// False when that lateness (99 of 100) is above 1 % of the median response time and above
    /// 100 µs: then response times hold some of the generator.
    pub on_time: bool,
}

/// One phase of a run that has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReport {
    /// Its name.
    pub name: String,
    /// When all clients began it, after the common start.
    pub start_s: f64,
    /// From then to the end of its last operation.
    pub window_s: f64,
    /// From then to the first client that had finished.
    pub stonewall_s: f64,
    /// Operations that succeeded.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Successful operations over the window.
    pub rate_per_s: f64,
    /// Bytes moved over the window.
    pub throughput_bytes_per_s: f64,
    /// Successful operations until the stonewall, over it.
    pub stonewall_rate_per_s: f64,
    /// Cache state at its start.
    #[serde(default)]
    pub cache: CacheReport,
    /// By logical operation.
    pub operations: BTreeMap<String, OperationReport>,
    /// When successful operations ended, after the phase's start.
    pub ends: Histogram,
    /// Second by second.
    pub seconds: Vec<Second>,
    /// When it had settled, by MSER-5; none for fewer than 21 seconds.
    pub steady: Option<Steady>,
    /// Load that its schedule requested; none in a closed loop.
    #[serde(default)]
    pub schedule: Option<ScheduleReport>,
}

/// The report of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadReport")]
pub struct Report {
    /// False when it was interrupted, ran out of time, or stopped for errors.
    pub complete: bool,
    /// Preparing, running, checking and cleaning up.
    pub wall_s: f64,
    /// When the timed part began (Unix time).
    pub start_unix_ns: u64,
    /// How long after the agreed start the clients were let go.
    pub late_s: f64,
    /// Number of clients.
    pub clients: u32,
    /// From the common start to the end of the last operation.
    pub window_s: f64,
    /// From the common start to the first client that had finished.
    pub stonewall_s: f64,
    /// Successful operations over the window.
    pub rate_per_s: f64,
    /// Bytes moved over the window.
    pub throughput_bytes_per_s: f64,
    /// Successful operations until the stonewall, over it.
    pub stonewall_rate_per_s: f64,
    /// By logical operation.
    pub operations: BTreeMap<String, OperationReport>,
    /// By primitive.
    pub steps: BTreeMap<String, StepReport>,
    /// When successful operations ended, after the common start.
    pub ends: Histogram,
    /// By client.
    pub per_client: Vec<ClientReport>,
    /// What failed.
    pub errors: Vec<ErrorCount>,
    /// Bytes whose content was checked.
    pub verified_bytes: u64,
    /// The check of everything that was acknowledged, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditReport>,
    /// Cache state.
    pub cache: CacheReport,
    /// Processor time.
    pub cpu_s: CpuReport,
    /// Spans not kept.
    pub spans_dropped: u64,
    /// Second by second after the common start; of runs with several phases, these hold it.
    #[serde(default)]
    pub seconds: Vec<Second>,
    /// When it had settled, by MSER-5; none for fewer than 21 seconds.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// Load that the schedule requested; none in a closed loop.
    #[serde(default)]
    pub schedule: Option<ScheduleReport>,
    /// The phases, where there are several: all other times are then sums over them.
    #[serde(default)]
    pub phases: Vec<PhaseReport>,
    /// What the generator adds.
    #[serde(default)]
    pub generator: GeneratorReport,
    /// What layers did to calls: "stalled", "failed", …
    #[serde(default)]
    pub layers: BTreeMap<String, u64>,
}

/// One span: a logical operation, or a primitive in it.
#[derive(Clone, Debug)]
pub struct SpanRecord {
    /// The operation, or the step in it.
    pub name: String,
    /// Unix time.
    pub start_unix_ns: u64,
    /// Unix time.
    pub end_unix_ns: u64,
    /// Unique in the run, not 0.
    pub span_id: u64,
    /// 0 for a logical operation.
    pub parent_id: u64,
    /// The client.
    pub thread: u32,
    /// Bytes moved.
    pub bytes: u64,
}

/// A histogram with the bytes that belong to it.
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
