//! What had to be repaired or dropped, counted by kind, so that nothing is lost silently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Spans repaired or dropped, one counter for each kind of damage; two of them add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Losses {
    /// Dropped: the same span again, equal in every field.
    pub duplicates: u64,
    /// Dropped: another span under an identity already taken; the longest one stays.
    pub conflicting_duplicates: u64,
    /// Dropped: trace or span id of all zeros.
    pub zero_ids: u64,
    /// Dropped: trace or span id of the wrong length or not hexadecimal.
    pub bad_ids: u64,
    /// Made a root: the span names itself as its parent.
    pub self_parents: u64,
    /// Made a root: the parent is in none of the files, or its id is malformed.
    pub missing_parents: u64,
    /// Broken at its earliest member: a ring of parents.
    pub cycles: u64,
    /// Made zero long: the span ends before it starts.
    pub end_before_start: u64,
    /// Clipped in the parent's self time: the child sticks out of its parent.
    pub outside_parent: u64,
    /// Re-hung at the deepest level that is kept, with every sum intact.
    pub deep_spans: u64,
    /// Cut to the longest name that is kept.
    pub long_names: u64,
    /// Replaced character by character: a name that is not UTF-8.
    pub bad_text: u64,
    /// Counted as zero bytes: a size that is negative, fractional or not a number.
    pub bad_sizes: u64,
    /// Dropped: a time that is missing, negative or beyond 2^64 nanoseconds.
    pub bad_times: u64,
    /// Dropped: a beginning without an end, or an end without a beginning.
    pub unpaired: u64,
    /// Passed over: a line of a log that is no finished call.
    pub other_lines: u64,
    /// Hung apart from their tree, with every sum intact: came after the tree was merged.
    pub late_spans: u64,
    /// Merged before they were whole, to stay within the memory: traces longer than the window.
    pub cut_traces: u64,
    /// Without their service: the resource came so late that its spans were already merged.
    pub late_resources: u64,
    /// Merged by their name alone, with every sum intact: more shapes than are kept apart.
    pub merged_shapes: u64,
    /// Merged under one name, with every sum intact: more names than are kept apart.
    pub merged_names: u64,
    /// Attributed to the first host of their place: more hosts and places than are kept apart.
    pub merged_hosts: u64,
    /// Read as far as they go: files that end in the middle of something.
    pub truncated_files: u64,
    /// Dropped: bytes at the end of such files that make nothing whole.
    pub unread_bytes: u64,
    /// Not there: bytes that such files announce beyond their end; more may be missing.
    pub missing_bytes: u64,
}

impl Losses {
    /// Every kind with its count, in the order of the fields.
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

    /// The kinds that happened, as "3 zero_ids, 1 cycles", or "none".
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
