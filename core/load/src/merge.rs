//! Reports of parts of one run become the report of the whole, without loss.

use std::collections::BTreeMap;

use dfslab_stats::Summary;

use crate::report::{ErrorCount, OperationReport, Report, StepReport};

impl Report {
    /// Add the report of other clients that started at the same instant. The order of merging
    /// decides only whose first error is shown.
    pub fn merge(&mut self, other: &Report) {
        self.complete &= other.complete;
        self.wall_s = self.wall_s.max(other.wall_s);
        self.start_unix_ns = self.start_unix_ns.min(other.start_unix_ns);
        self.late_s = self.late_s.max(other.late_s);
        self.clients += other.clients;
        self.stonewall_s = earlier(self.stonewall_s, other.stonewall_s);
        for (name, theirs) in &other.operations {
            let mine = self.operations.entry(name.clone());
            mine.and_modify(|mine| mine.merge(theirs))
                .or_insert_with(|| theirs.clone());
        }
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
        if self.cache != other.cache {
            self.cache.dropped = "differently".to_string();
        }
        self.cpu_s.user += other.cpu_s.user;
        self.cpu_s.system += other.cpu_s.system;
        self.spans_dropped += other.spans_dropped;
        self.settle();
    }

    /// Work out what follows from the rest: the window and the rates.
    pub(crate) fn settle(&mut self) {
        let over = |value: f64, seconds: f64| if seconds > 0.0 { value / seconds } else { 0.0 };
        let count: u64 = self.per_client.iter().map(|client| client.count).sum();
        let bytes: u64 = self.per_client.iter().map(|client| client.bytes).sum();
        let ends = self.per_client.iter().map(|client| client.last_end_s);
        self.window_s = ends.fold(0.0, f64::max);
        self.rate_per_s = over(count as f64, self.window_s);
        self.throughput_bytes_per_s = over(bytes as f64, self.window_s);
        self.stonewall_rate_per_s = over(self.count_before_wall(), self.stonewall_s);
    }

    /// Operations that ended until the first client had done all its own: known from a histogram,
    /// and not less than that client's.
    fn count_before_wall(&self) -> f64 {
        let first = |client: &&crate::ClientReport| client.last_end_s == self.stonewall_s;
        let counts = self.per_client.iter().filter(first).map(|c| c.count);
        let wall_ns = (self.stonewall_s * 1e9).round() as u64;
        self.ends
            .count_up_to(wall_ns)
            .max(counts.max().unwrap_or(0) as f64)
    }
}

/// The earlier of two instants, of which 0 is none.
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
            .and_modify(|told| told.count += error.count)
            .or_insert_with(|| error.clone());
    }
    found.into_values().collect()
}
