//! Merges the reports of shards into the report of the whole run. A shard executes some of the
//! clients of a run. Histograms and counts are merged without loss.

use std::collections::BTreeMap;

use dfslab_stats::{Histogram, Summary};

use crate::record::schedule::ScheduleReport;
use crate::record::series::{add_seconds, steady};
use crate::report::{
    ErrorCount, GeneratorReport, OperationReport, PhaseReport, Report, StepReport,
};

/// A run is on time if 99 % of its operations start late by at most a certain time. This time is 1
/// % of the median response time, or this constant (in ns) if it is larger. No scheduler wakes
/// threads more precisely than this constant.
const BEARABLE_NS: u64 = 100_000;

impl Report {
    /// Adds the report of another shard, whose clients started at the same instant. Whatever the
    /// order in which reports are merged, the result is the same, except for the message that is
    /// reported as the first error.
    pub fn merge(&mut self, other: &Report) {
        self.complete &= other.complete;
        self.wall_s = self.wall_s.max(other.wall_s);
        self.start_unix_ns = self.start_unix_ns.min(other.start_unix_ns);
        self.late_s = self.late_s.max(other.late_s);
        self.clients += other.clients;
        self.stonewall_s = earlier(self.stonewall_s, other.stonewall_s);
        merge_operations(&mut self.operations, &other.operations);
        for (name, theirs) in &other.steps {
            let mine = self.steps.entry(name.clone());
            mine.and_modify(|mine| mine.merge(theirs))
                .or_insert_with(|| theirs.clone());
        }
        self.ends.merge(&other.ends);
        self.per_client.extend_from_slice(&other.per_client);
        self.per_client.sort_by_key(|client| client.client);
        self.errors = merged_errors(&self.errors, &other.errors);
        self.verified_bytes += other.verified_bytes;
        if let Some(theirs) = &other.audit {
            self.audit.get_or_insert_default().merge(theirs);
        }
        self.cache.merge(&other.cache);
        self.cpu_s.user += other.cpu_s.user;
        self.cpu_s.system += other.cpu_s.system;
        self.spans_dropped += other.spans_dropped;
        add_seconds(&mut self.seconds, &other.seconds);
        self.schedule = ScheduleReport::merged(self.schedule, other.schedule);
        for (mine, theirs) in self.phases.iter_mut().zip(&other.phases) {
            mine.merge(theirs);
        }
        // A shard that was stopped early did not reach its later phases. Phases that only the other
        // shard reached are copied from its report.
        let begun = self.phases.len();
        self.phases.extend(other.phases.iter().skip(begun).cloned());
        self.generator.merge(&other.generator);
        for (what, count) in &other.layers {
            *self.layers.entry(what.clone()).or_default() += count;
        }
        self.settle();
    }

    /// Recomputes the values of the report that follow from its merged counts and times. These are
    /// the measured window, the stonewall, the schedule, the rates, the steady state, and the
    /// figures of the generator's cost.
    pub(crate) fn settle(&mut self) {
        let count: u64 = self.per_client.iter().map(|client| client.count).sum();
        let bytes: u64 = self.per_client.iter().map(|client| client.bytes).sum();
        self.phases.iter_mut().for_each(PhaseReport::settle);
        let before_wall = match self.phases.is_empty() {
            true => {
                let ends = self.per_client.iter().map(|client| client.last_end_s);
                self.window_s = ends.fold(0.0, f64::max);
                let first = |client: &&crate::ClientReport| client.last_end_s == self.stonewall_s;
                let counts = self.per_client.iter().filter(first).map(|c| c.count);
                let least = counts.max().unwrap_or(0);
                before_wall(&self.ends, self.stonewall_s).max(least as f64)
            }
            false => {
                self.window_s = self.phases.iter().map(|phase| phase.window_s).sum();
                self.stonewall_s = self.phases.iter().map(|phase| phase.stonewall_s).sum();
                let schedules = self.phases.iter().map(|p| (p.start_s, p.schedule));
                self.schedule = ScheduleReport::in_turn(schedules);
                let before = |p: &PhaseReport| p.stonewall_rate_per_s * p.stonewall_s;
                self.phases.iter().map(before).sum()
            }
        };
        self.rate_per_s = over(count as f64, self.window_s);
        self.throughput_bytes_per_s = over(bytes as f64, self.window_s);
        self.stonewall_rate_per_s = over(before_wall, self.stonewall_s);
        self.steady = steady(&self.seconds);
        self.generator.settle(&self.operations);
    }
}

fn over(value: f64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        value / seconds
    } else {
        0.0
    }
}

/// Estimates how many operations ended before the stonewall, from the histogram of end times. The
/// stonewall is the time at which the first client completed its operations. `stonewall_s` is this
/// time in seconds after the start.
fn before_wall(ends: &Histogram, stonewall_s: f64) -> f64 {
    ends.count_up_to((stonewall_s * 1e9).round() as u64)
}

impl PhaseReport {
    fn merge(&mut self, other: &PhaseReport) {
        self.window_s = self.window_s.max(other.window_s);
        self.stonewall_s = earlier(self.stonewall_s, other.stonewall_s);
        self.count += other.count;
        self.bytes += other.bytes;
        self.cache.merge(&other.cache);
        merge_operations(&mut self.operations, &other.operations);
        self.ends.merge(&other.ends);
        add_seconds(&mut self.seconds, &other.seconds);
        self.schedule = ScheduleReport::merged(self.schedule, other.schedule);
    }

    fn settle(&mut self) {
        self.rate_per_s = over(self.count as f64, self.window_s);
        self.throughput_bytes_per_s = over(self.bytes as f64, self.window_s);
        let before = before_wall(&self.ends, self.stonewall_s);
        self.stonewall_rate_per_s = over(before, self.stonewall_s);
        self.steady = steady(&self.seconds);
    }
}

impl GeneratorReport {
    fn merge(&mut self, other: &GeneratorReport) {
        self.own_ns_per_op = self.own_ns_per_op.max(other.own_ns_per_op);
        self.call_floor_ns = self.call_floor_ns.max(other.call_floor_ns);
        self.late_histogram.merge(&other.late_histogram);
    }

    fn settle(&mut self, operations: &BTreeMap<String, OperationReport>) {
        let count: u64 = operations.values().map(|o| o.latency.count).sum();
        let spent_s: f64 = operations.values().map(|o| o.latency.sum_s).sum();
        self.share_of_latency = over(self.own_ns_per_op * 1e-9 * count as f64, spent_s);
        self.late = Summary::from(&self.late_histogram);
        let mut responses = Histogram::new();
        let observed = operations
            .values()
            .filter_map(|o| o.response_histogram.as_ref());
        observed.for_each(|histogram| responses.merge(histogram));
        let bearable_ns = (responses.quantile_ns(0.5) / 100).max(BEARABLE_NS);
        self.on_time = self.late_histogram.quantile_ns(0.99) <= bearable_ns;
    }
}

fn merge_operations(
    mine: &mut BTreeMap<String, OperationReport>,
    theirs: &BTreeMap<String, OperationReport>,
) {
    for (name, theirs) in theirs {
        let mine = mine.entry(name.clone());
        mine.and_modify(|mine| mine.merge(theirs))
            .or_insert_with(|| theirs.clone());
    }
}

/// The earlier of two times in seconds. A time of 0 is unknown; if one time is unknown, the result
/// is the other time.
fn earlier(mine_s: f64, theirs_s: f64) -> f64 {
    match (mine_s > 0.0, theirs_s > 0.0) {
        (true, true) => mine_s.min(theirs_s),
        _ => mine_s.max(theirs_s),
    }
}

impl OperationReport {
    fn merge(&mut self, other: &OperationReport) {
        self.count += other.count;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.histogram.merge(&other.histogram);
        self.latency = Summary::from(&self.histogram);
        if let Some(theirs) = &other.response_histogram {
            self.response_histogram
                .get_or_insert_default()
                .merge(theirs);
            self.response = self.response_histogram.as_ref().map(Summary::from);
        }
    }
}

impl StepReport {
    fn merge(&mut self, other: &StepReport) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.histogram.merge(&other.histogram);
        self.latency = Summary::from(&self.histogram);
    }
}

fn merged_errors(mine: &[ErrorCount], theirs: &[ErrorCount]) -> Vec<ErrorCount> {
    let mut found: BTreeMap<(&str, &str), ErrorCount> = BTreeMap::new();
    for error in mine.iter().chain(theirs) {
        found
            .entry((&error.operation, &error.kind))
            .and_modify(|reported| reported.count += error.count)
            .or_insert_with(|| error.clone());
    }
    found.into_values().collect()
}
