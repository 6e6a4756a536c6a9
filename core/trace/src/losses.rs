//! What had to be repaired or dropped, counted by kind, so that nothing is lost silently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spans repaired or dropped, one counter for each kind of damage; two of them add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Losses {
    /// Dropped: a span that equals an earlier span in every field.
    pub duplicates: u64,
    /// Dropped: a different span with an id that is already used; the longest of them stays.
    pub conflicting_duplicates: u64,
    /// Dropped: trace or span id of all zeros.
    pub zero_ids: u64,
    /// Dropped: trace or span id of the wrong length or not hexadecimal.
    pub bad_ids: u64,
    /// Made roots: spans that name themselves as their parents.
    pub self_parents: u64,
    /// Made roots: spans whose parent is in none of the files, or whose parent id is malformed.
    pub missing_parents: u64,
    /// Broken at the earliest member: cycles of parents.
    pub cycles: u64,
    /// Set to zero length: spans that end before they start.
    pub end_before_start: u64,
    /// Clipped for the parent's self time: children that extend beyond their parents.
    pub outside_parent: u64,
    /// Moved up to the deepest level that is kept, with unchanged sums: spans below that level.
    pub deep_spans: u64,
    /// Truncated to the largest length: long names.
    pub long_names: u64,
    /// Replaced character by character: names that are not UTF-8.
    pub bad_text: u64,
    /// Counted as zero bytes: sizes that are negative, fractional or not numbers.
    pub bad_sizes: u64,
    /// Dropped: times that are missing, negative or beyond 2^64 nanoseconds.
    pub bad_times: u64,
    /// Dropped: starts without an end, or ends without a start.
    pub unpaired: u64,
    /// Skipped: lines of a log that are no finished calls.
    pub other_lines: u64,
    /// Stored as a separate tree, with unchanged sums: spans that arrived after their tree was
    /// merged.
    pub late_spans: u64,
    /// Merged before they were complete, to bound memory: traces longer than the window.
    pub cut_traces: u64,
    /// Left without a service: spans that were merged before their resource was read.
    pub late_resources: u64,
    /// Merged by name alone, with unchanged sums: calls beyond the largest number of shapes.
    pub merged_shapes: u64,
    /// Merged under one name, with unchanged sums: calls beyond the largest number of names.
    pub merged_names: u64,
    /// Attributed to the first host of their node: calls beyond the largest number of per-host
    /// sums.
    pub merged_hosts: u64,
    /// Read up to the truncation: files that end within a value.
    pub truncated_files: u64,
    /// Dropped: bytes at the end of truncated files that form no complete value.
    pub unread_bytes: u64,
    /// Absent: bytes that truncated files announce beyond their end; more may be absent.
    pub missing_bytes: u64,
}

impl Losses {
    /// Every kind of damage with its count, in the order of the fields.
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

    /// Adds another's counts to these.
    pub fn merge(&mut self, other: &Losses) {
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

    /// The kinds with a count above zero, as "3 zero_ids, 1 cycles", or "none".
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
