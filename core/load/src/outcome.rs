//! The clients' records become one report.

use std::collections::BTreeMap;
use std::time::Instant;

use dfslab_workload::encode;

use crate::plan::Plan;
use crate::record::{nanoseconds, Record};
use crate::report::{
    CacheReport, ClientReport, Counted, CpuReport, ErrorCount, Report, SpanRecord,
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
    pub cpu: CpuReport,
    /// When the first client had done all its operations, ns after zero; the largest when none did.
    pub wall_ns: u64,
    pub complete: bool,
}

/// Put the clients' records together.
pub fn outcome(plan: &Plan, records: &[Record], timing: &Timing, began: Instant) -> Outcome {
    let (operations, steps, errors) = merged(records);
    let per_client: Vec<ClientReport> =
        records.iter().map(|r| per_client(r, timing.zero)).collect();
    let window_s = per_client
        .iter()
        .map(|client| client.last_end_s)
        .fold(0.0, f64::max);
    // Nobody was first when nobody started.
    let stonewall_s = match timing.wall_ns {
        u64::MAX => 0.0,
        wall_ns => wall_ns as f64 * 1e-9,
    };
    let stonewall_count: u64 = records.iter().map(|record| record.count_before_wall).sum();
    let count: u64 = per_client.iter().map(|client| client.count).sum();
    let bytes: u64 = per_client.iter().map(|client| client.bytes).sum();
    let over = |value: f64, seconds: f64| if seconds > 0.0 { value / seconds } else { 0.0 };
    let report = Report {
        complete: timing.complete,
        wall_s: began.elapsed().as_secs_f64(),
        start_unix_ns: timing.zero_unix_ns,
        clients: plan.stream.clients,
        window_s,
        stonewall_s,
        rate_per_s: over(count as f64, window_s),
        throughput_bytes_per_s: over(bytes as f64, window_s),
        stonewall_rate_per_s: over(stonewall_count as f64, stonewall_s),
        operations: operations
            .iter()
            .map(|(name, c)| (*name, c.operation()))
            .collect(),
        steps: steps
            .iter()
            .map(|(name, counted)| (name.clone(), counted.step()))
            .collect(),
        per_client,
        errors: errors.into_iter().map(error_count).collect(),
        verified_bytes: records.iter().map(|record| record.verified_bytes).sum(),
        cache: CacheReport {
            dropped: plan.target.wants_cold().unwrap_or("none"),
        },
        cpu_s: timing.cpu,
        spans_dropped: records.iter().map(|record| record.spans_dropped).sum(),
    };
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

type Errors = BTreeMap<(String, &'static str), (u64, String)>;

/// What all clients counted together: by operation, by step, by error.
fn merged(
    records: &[Record],
) -> (
    BTreeMap<&'static str, Counted>,
    BTreeMap<String, Counted>,
    Errors,
) {
    let mut operations: BTreeMap<&'static str, Counted> = BTreeMap::new();
    let mut steps: BTreeMap<String, Counted> = BTreeMap::new();
    let mut errors = Errors::new();
    for record in records {
        for (name, counted) in record.operations() {
            operations.entry(name).or_default().merge(counted);
        }
        for (name, counted) in record.steps() {
            steps.entry(name).or_default().merge(counted);
        }
        for (key, (count, first)) in &record.errors {
            errors
                .entry(key.clone())
                .or_insert_with(|| (0, first.clone()))
                .0 += count;
        }
    }
    (operations, steps, errors)
}

fn error_count(
    ((operation, kind), (count, first)): ((String, &'static str), (u64, String)),
) -> ErrorCount {
    ErrorCount {
        operation,
        kind,
        count,
        first,
    }
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
