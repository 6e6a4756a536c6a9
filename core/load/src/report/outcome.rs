//! Merges the records (the measurements) of all clients into the report of a run.

use std::collections::BTreeMap;

use dfslab_stats::{Histogram, Summary};

use crate::execution::setup::Setup;
use crate::record::schedule::ScheduleReport;
use crate::record::series::add_seconds;
use crate::record::{Part, Record};
use crate::report::{
    AuditReport, CacheReport, ClientReport, Counted, CpuReport, ErrorCount, GeneratorReport,
    OperationReport, PhaseReport, Report, Resident, SpanRecord, StepReport,
};

/// The report of a run, and results that are too large for the report.
pub struct Outcome {
    /// The report of the run.
    pub report: Report,
    /// Spans, if the plan requests them.
    pub spans: Vec<SpanRecord>,
    /// The executed operations, ordered by client. Empty unless the plan requests them. Each entry
    /// is the encoded operation, followed by its start in 8 bytes, little endian. The start is in
    /// ns after the common start.
    pub recorded: Vec<u8>,
}

/// The measured times of a phase, and its cache state.
pub struct PhaseTiming {
    /// The phase's common start, ns of the monotonic clock.
    pub start_ns: u64,
    /// The stonewall in ns: the time from the start of the phase until the first client had
    /// completed its operations. The largest integer if no client completed them.
    pub wall_ns: u64,
    /// How much of the clients' files was in the page cache when the phase began. None if the run
    /// is not cold, or if the target cannot report it.
    pub cold: Option<Resident>,
}

/// The measured times of the timed part, and the processor time that the process used in it.
pub struct Timing {
    pub zero_unix_ns: u64,
    pub late_s: f64,
    pub cpu: CpuReport,
    pub phases: Vec<PhaseTiming>,
    pub complete: bool,
}

/// Results of a run that the clients' records do not contain.
pub struct RunFigures {
    pub generator: GeneratorReport,
    pub layers: BTreeMap<String, u64>,
    pub wall_s: f64,
}

/// Merges the clients' records into the report, the spans and the executed operations of the run.
pub fn outcome(setup: &Setup, records: &[Record], timing: &Timing, figures: RunFigures) -> Outcome {
    let plan = setup.plan;
    let mut generator = figures.generator;
    for part in records.iter().flat_map(|record| &record.parts) {
        generator.late_histogram.merge(&part.late());
    }
    let phases: Vec<PhaseReport> = (0..timing.phases.len())
        .map(|number| phase(setup, number, records, timing))
        .collect();
    let several = setup.phases.len() > 1;
    let only = phases.first().filter(|_| !several);
    let mut report = Report {
        complete: timing.complete,
        wall_s: figures.wall_s,
        start_unix_ns: timing.zero_unix_ns,
        late_s: timing.late_s,
        clients: plan.client_count(),
        window_s: 0.0,
        stonewall_s: only.map_or(0.0, |phase| phase.stonewall_s),
        rate_per_s: 0.0,
        throughput_bytes_per_s: 0.0,
        stonewall_rate_per_s: 0.0,
        operations: operations(records.iter().flat_map(|record| &record.parts)),
        steps: steps(records),
        ends: only.map_or_else(Histogram::new, |phase| phase.ends.clone()),
        per_client: records.iter().map(|r| per_client(r, timing)).collect(),
        errors: errors(records),
        verified_bytes: records.iter().map(|record| record.verified_bytes).sum(),
        audit: audit(records),
        cache: cache_of_all(setup, &phases),
        cpu_s: timing.cpu,
        spans_dropped: records.iter().map(|record| record.spans_dropped).sum(),
        seconds: only.map_or_else(Vec::new, |phase| phase.seconds.clone()),
        steady: None,
        schedule: only.and_then(|phase| phase.schedule),
        phases: if several { phases } else { Vec::new() },
        generator,
        layers: figures.layers,
    };
    report.settle();
    let recorded = records
        .iter()
        .flat_map(|record| record.executed())
        .collect();
    let spans = records.iter().flat_map(|record| record.spans()).collect();
    Outcome {
        report,
        spans,
        recorded,
    }
}

/// Computes the report of the phase with this number over all clients.
fn phase(setup: &Setup, number: usize, records: &[Record], timing: &Timing) -> PhaseReport {
    let parts: Vec<&Part> = records.iter().filter_map(|r| r.parts.get(number)).collect();
    let its = &timing.phases[number];
    let (mut ends, mut seconds) = (Histogram::new(), Vec::new());
    for part in &parts {
        ends.merge(&part.ends());
        add_seconds(&mut seconds, &part.seconds());
    }
    let last = parts.iter().filter_map(|part| part.last_end).max();
    PhaseReport {
        name: setup.phases[number].name.clone(),
        start_s: seconds_between(timing.phases[0].start_ns, its.start_ns),
        window_s: last.map_or(0.0, |last| seconds_between(its.start_ns, last)),
        // The stonewall is reported as 0 if no client completed the phase.
        stonewall_s: match its.wall_ns {
            u64::MAX => 0.0,
            wall_ns => wall_ns as f64 * 1e-9,
        },
        count: parts.iter().map(|part| part.count()).sum(),
        bytes: parts
            .iter()
            .flat_map(|part| part.kinds())
            .map(|(_, kind)| kind.bytes())
            .sum(),
        rate_per_s: 0.0,
        throughput_bytes_per_s: 0.0,
        stonewall_rate_per_s: 0.0,
        cache: cache(setup, its.cold),
        schedule: ScheduleReport::of(its.start_ns, parts.iter().map(|part| part.begun)),
        operations: operations(parts.into_iter()),
        ends,
        seconds,
        steady: None,
    }
}

/// Returns the report on the caches before a phase. It states which caches the plan drops, and how
/// much of the clients' files remained in the page cache (`proof`).
fn cache(setup: &Setup, proof: Option<Resident>) -> CacheReport {
    CacheReport {
        dropped: setup.plan.target.wants_cold().unwrap_or("none").to_string(),
        proof,
    }
}

/// Combines the reports on caches of all phases into one.
fn cache_of_all(setup: &Setup, phases: &[PhaseReport]) -> CacheReport {
    let each = phases.iter().map(|phase| phase.cache.clone());
    let all = each.reduce(|mut all, one| {
        all.merge(&one);
        all
    });
    all.unwrap_or_else(|| cache(setup, None))
}

fn seconds_between(start: u64, end: u64) -> f64 {
    end.saturating_sub(start) as f64 * 1e-9
}

/// Merges the counts and latencies of several clients or phases, separately for each operation
/// type.
fn operations<'a>(parts: impl Iterator<Item = &'a Part>) -> BTreeMap<String, OperationReport> {
    let mut counted: BTreeMap<&str, (Counted, Option<Histogram>)> = BTreeMap::new();
    for (kind, observed) in parts.flat_map(Part::kinds) {
        let (all, responses) = counted.entry(kind.name()).or_default();
        all.merge(&observed.operations());
        if let Some(response) = &observed.response {
            responses.get_or_insert_default().merge(response);
        }
    }
    let report = |(name, (counted, responses)): (&str, (Counted, Option<Histogram>))| {
        let mut report = counted.operation();
        report.response = responses.as_ref().map(Summary::from);
        report.response_histogram = responses;
        (name.to_string(), report)
    };
    counted.into_iter().map(report).collect()
}

/// Merges the counts and latencies of all clients, separately for each step.
fn steps(records: &[Record]) -> BTreeMap<String, StepReport> {
    let mut found: BTreeMap<String, Counted> = BTreeMap::new();
    let parts = records.iter().flat_map(|record| &record.parts);
    for (kind, observed) in parts.flat_map(Part::kinds) {
        for (step, counted) in observed.steps() {
            let name = format!("{}/{}", kind.name(), step.name());
            found.entry(name).or_default().merge(&counted);
        }
    }
    found
        .into_iter()
        .map(|(name, counted)| (name, counted.step()))
        .collect()
}

/// Merges the results of the clients' checks of files whose last change was acknowledged. None if
/// no client checked its files.
fn audit(records: &[Record]) -> Option<AuditReport> {
    let found = records.iter().filter_map(|record| record.audit.as_ref());
    found.fold(None, |whole: Option<AuditReport>, its| {
        let mut whole = whole.unwrap_or_default();
        whole.merge(its);
        Some(whole)
    })
}

/// Merges the failures of all clients: one entry for each pair of a failed step and a kind of
/// error.
fn errors(records: &[Record]) -> Vec<ErrorCount> {
    let mut found: BTreeMap<(String, &str), ErrorCount> = BTreeMap::new();
    for record in records {
        for ((operation, kind), (count, first)) in &record.errors {
            let entry = found.entry((operation.clone(), kind));
            let reported = entry.or_insert_with(|| ErrorCount {
                operation: operation.clone(),
                kind: kind.to_string(),
                count: 0,
                first: first.clone(),
            });
            reported.count += count;
        }
    }
    found.into_values().collect()
}

fn per_client(record: &Record, timing: &Timing) -> ClientReport {
    let start_ns = timing.phases.first().map_or(0, |phase| phase.start_ns);
    let since = |at: Option<u64>| at.map_or(0.0, |at| seconds_between(start_ns, at));
    let kinds = || {
        record
            .parts
            .iter()
            .flat_map(Part::kinds)
            .map(|(_, kind)| kind)
    };
    ClientReport {
        client: record.client,
        first_start_s: since(record.parts.iter().find_map(|part| part.first_start)),
        last_end_s: since(record.last_end()),
        count: record.count(),
        bytes: kinds().map(|kind| kind.bytes()).sum(),
    }
}
