//! The clients' records become one report.

use std::collections::BTreeMap;
use std::time::Instant;

use dfslab_stats::Histogram;
use dfslab_workload::encode;

use crate::plan::Plan;
use crate::record::{nanoseconds, Record};
use crate::report::{
    CacheReport, ClientReport, Counted, CpuReport, ErrorCount, OperationReport, Report, SpanRecord,
    StepReport,
};

/// A report with what is too large for it.
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// Spans, when asked for.
    pub spans: Vec<SpanRecord>,
    /// The executed operations of all clients in order of clients, encoded, when asked for.
    pub recorded: Vec<u8>,
}

/// When the timed part was, and what the process spent in it.
pub struct Timing {
    pub zero: Instant,
    pub zero_unix_ns: u64,
    pub late_s: f64,
    pub cpu: CpuReport,
    /// When the first client had done all its operations, ns after zero; the largest when none did.
    pub wall_ns: u64,
    pub complete: bool,
}

/// Put the clients' records together.
pub fn outcome(plan: &Plan, records: &[Record], timing: &Timing, began: Instant) -> Outcome {
    let (operations, steps) = counted(records);
    let mut ends = Histogram::new();
    records.iter().for_each(|record| ends.merge(&record.ends));
    let mut report = Report {
        complete: timing.complete,
        wall_s: began.elapsed().as_secs_f64(),
        start_unix_ns: timing.zero_unix_ns,
        late_s: timing.late_s,
        clients: plan.client_count(),
        window_s: 0.0,
        // Nobody was first when nobody started.
        stonewall_s: match timing.wall_ns {
            u64::MAX => 0.0,
            wall_ns => wall_ns as f64 * 1e-9,
        },
        rate_per_s: 0.0,
        throughput_bytes_per_s: 0.0,
        stonewall_rate_per_s: 0.0,
        operations,
        steps,
        ends,
        per_client: records.iter().map(|r| per_client(r, timing.zero)).collect(),
        errors: errors(records),
        verified_bytes: records.iter().map(|record| record.verified_bytes).sum(),
        cache: CacheReport {
            dropped: plan.target.wants_cold().unwrap_or("none").to_string(),
        },
        cpu_s: timing.cpu,
        spans_dropped: records.iter().map(|record| record.spans_dropped).sum(),
    };
    report.settle();
    let recorded = records
        .iter()
        .flat_map(|record| encode(&record.executed))
        .collect();
    let spans = records.iter().flat_map(|record| record.spans()).collect();
    Outcome {
        report,
        spans,
        recorded,
    }
}

/// What all clients counted together: by operation and by step.
fn counted(
    records: &[Record],
) -> (
    BTreeMap<String, OperationReport>,
    BTreeMap<String, StepReport>,
) {
    let mut operations: BTreeMap<&str, Counted> = BTreeMap::new();
    let mut steps: BTreeMap<String, Counted> = BTreeMap::new();
    for record in records {
        for (name, counted) in record.operations() {
            operations.entry(name).or_default().merge(counted);
        }
        for (name, counted) in record.steps() {
            steps.entry(name).or_default().merge(counted);
        }
    }
    let operations = operations
        .into_iter()
        .map(|(name, counted)| (name.to_string(), counted.operation()));
    let steps = steps
        .into_iter()
        .map(|(name, counted)| (name, counted.step()));
    (operations.collect(), steps.collect())
}

/// What failed, by operation and kind.
fn errors(records: &[Record]) -> Vec<ErrorCount> {
    let mut found: BTreeMap<(String, &str), ErrorCount> = BTreeMap::new();
    for record in records {
        for ((operation, kind), (count, first)) in &record.errors {
            let entry = found.entry((operation.clone(), kind));
            let told = entry.or_insert_with(|| ErrorCount {
                operation: operation.clone(),
                kind: kind.to_string(),
                count: 0,
                first: first.clone(),
            });
            told.count += count;
        }
    }
    found.into_values().collect()
}

fn per_client(record: &Record, zero: Instant) -> ClientReport {
    let since = |at: Option<Instant>| at.map_or(0.0, |at| nanoseconds(zero, at) as f64 * 1e-9);
    ClientReport {
        client: record.client,
        first_start_s: since(record.first_start),
        last_end_s: since(record.last_end),
        count: record
            .operations()
            .map(|(_, counted)| counted.histogram.count())
            .sum(),
        bytes: record.operations().map(|(_, counted)| counted.bytes).sum(),
    }
}
