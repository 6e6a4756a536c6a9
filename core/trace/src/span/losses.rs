//! Counts the spans that had to be repaired or dropped, by kind of damage, so that nothing is lost
//! silently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers of spans that were repaired or dropped, one counter for each kind of damage. The counts
/// of two files or shards are added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SpanLosses {
    /// Number of spans that were dropped because they equal an earlier span in every field.
    pub duplicates: u64,
    /// Number of spans that were dropped because a longer, different span has the same id.
    pub conflicting_duplicates: u64,
    /// Number of spans that were dropped because their trace id or span id is all zeros.
    pub zero_ids: u64,
    /// Number of spans that were dropped because an id has the wrong length or is not hexadecimal.
    pub bad_ids: u64,
    /// Number of spans that were made roots because they name themselves as their parents.
    pub self_parents: u64,
    /// Number of spans that were made roots because their parent is in none of the files or their
    /// parent id is malformed.
    pub missing_parents: u64,
    /// Number of cycles of parent links that were broken by making the earliest span of the cycle a
    /// root.
    pub cycles: u64,
    /// Number of spans that were set to zero length because they end before they start.
    pub end_before_start: u64,
    /// Number of spans that extend beyond their parents. Only the part of such a span within its
    /// parent reduces the parent's self time.
    pub outside_parent: u64,
    /// Number of spans that were too deep in their tree and were moved up to the deepest level that
    /// is kept. Sums are unchanged.
    pub deep_spans: u64,
    /// Number of names that were truncated to the maximum length.
    pub long_names: u64,
    /// Number of names that are not valid UTF-8; the invalid characters were replaced.
    pub bad_text: u64,
    /// Number of sizes that were counted as zero bytes because they are negative, fractional or not
    /// numbers.
    pub bad_sizes: u64,
    /// Number of spans that were dropped because a time is missing, negative or beyond 2^64
    /// nanoseconds.
    pub bad_times: u64,
    /// Number of records that were dropped because they are a start without an end, or an end
    /// without a start.
    pub unpaired: u64,
    /// Number of lines of a log that were skipped because they are no finished calls.
    pub other_lines: u64,
    /// Number of spans that arrived after their tree was merged and are stored as a separate tree.
    /// Sums are unchanged.
    pub late_spans: u64,
    /// Number of traces that were merged before they were complete, because too many spans waited
    /// in memory.
    pub cut_traces: u64,
    /// Number of spans that have no service because they were merged before their resource was
    /// read.
    pub late_resources: u64,
    /// Number of calls that were merged by name alone because there are too many shapes. Sums are
    /// unchanged.
    pub merged_shapes: u64,
    /// Number of calls that were merged under one name because there are too many names. Sums are
    /// unchanged.
    pub merged_names: u64,
    /// Number of calls that were counted for the first host of their node because there are too
    /// many sums by host.
    pub merged_hosts: u64,
    /// Number of files that end within a value and were read up to that place.
    pub truncated_files: u64,
    /// Number of bytes at the end of truncated files that form no complete value and were dropped.
    pub unread_bytes: u64,
    /// Number of bytes that truncated files announce beyond their end. More may be missing.
    pub missing_bytes: u64,
}

impl SpanLosses {
    /// Returns the name and the count of every kind of damage, in the order of the fields.
    pub fn by_kind(&self) -> [(&'static str, u64); 25] {
        [
            ("duplicates", self.duplicates),
            ("conflicting_duplicates", self.conflicting_duplicates),
            ("zero_ids", self.zero_ids),
            ("bad_ids", self.bad_ids),
            ("self_parents", self.self_parents),
            ("missing_parents", self.missing_parents),
            ("cycles", self.cycles),
            ("end_before_start", self.end_before_start),
            ("outside_parent", self.outside_parent),
            ("deep_spans", self.deep_spans),
            ("long_names", self.long_names),
            ("bad_text", self.bad_text),
            ("bad_sizes", self.bad_sizes),
            ("bad_times", self.bad_times),
            ("unpaired", self.unpaired),
            ("other_lines", self.other_lines),
            ("late_spans", self.late_spans),
            ("cut_traces", self.cut_traces),
            ("late_resources", self.late_resources),
            ("merged_shapes", self.merged_shapes),
            ("merged_names", self.merged_names),
            ("merged_hosts", self.merged_hosts),
            ("truncated_files", self.truncated_files),
            ("unread_bytes", self.unread_bytes),
            ("missing_bytes", self.missing_bytes),
        ]
    }

    /// Adds the counts of `other` to these counts.
    pub fn merge(&mut self, other: &SpanLosses) {
        self.duplicates += other.duplicates;
        self.conflicting_duplicates += other.conflicting_duplicates;
        self.zero_ids += other.zero_ids;
        self.bad_ids += other.bad_ids;
        self.self_parents += other.self_parents;
        self.missing_parents += other.missing_parents;
        self.cycles += other.cycles;
        self.end_before_start += other.end_before_start;
        self.outside_parent += other.outside_parent;
        self.deep_spans += other.deep_spans;
        self.long_names += other.long_names;
        self.bad_text += other.bad_text;
        self.bad_sizes += other.bad_sizes;
        self.bad_times += other.bad_times;
        self.unpaired += other.unpaired;
        self.other_lines += other.other_lines;
        self.late_spans += other.late_spans;
        self.cut_traces += other.cut_traces;
        self.late_resources += other.late_resources;
        self.merged_shapes += other.merged_shapes;
        self.merged_names += other.merged_names;
        self.merged_hosts += other.merged_hosts;
        self.truncated_files += other.truncated_files;
        self.unread_bytes += other.unread_bytes;
        self.missing_bytes = self.missing_bytes.saturating_add(other.missing_bytes);
    }

    /// Lists the kinds of damage that occurred, with their counts, such as "3 zero_ids, 1 cycles";
    /// "none" if there are none.
    pub fn in_words(&self) -> String {
        let happened: Vec<String> = self
            .by_kind()
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        if happened.is_empty() {
            "none".to_owned()
        } else {
            happened.join(", ")
        }
    }
}
