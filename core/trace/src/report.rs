//! A profile as plain data for other programs: one JSON document, or folded stacks.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clocks::AlignedClock;
use crate::hosts::Share;
use crate::losses::Losses;
use crate::profile::{Node, Profile};
use crate::rank::{rank, seconds, Options, Paths, Rankings};
use crate::repeats::Times;
use crate::replay::Savings;
use crate::sampling::ONE;
use crate::selection::AllLeftOut;
use crate::span::TextId;
use crate::statistics::Exemplar;
use crate::timeline::Timeline;
use crate::tree::NONE;

/// A profile with its rankings and the results of the analyses of its spans.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TraceProfile")]
pub struct Report {
    /// Number of spans recorded.
    pub spans: u64,
    /// Number of call trees before compression.
    pub trees: u64,
    /// Number of call trees after compression.
    pub shapes: u64,
    /// Sizes before and after compression.
    pub reduction: Reduction,
    /// Numbers of repaired or dropped records, by kind; the kinds are those of the recorder.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub losses: Losses,
    /// Calls that the user's rules dropped, by rule; they are in no other figure.
    pub left_out: AllLeftOut,
    /// Sampling by the recorder; none if all calls were recorded. With sampling, counts and sums
    /// are estimates.
    pub sampling: Option<Sampling>,
    /// The compressed trees, in descending order of total time.
    pub roots: Vec<TreeNode>,
    /// The rankings.
    #[serde(flatten)]
    pub rankings: Rankings,
    /// The estimated gain from each faster step; none if the spans were not replayed.
    pub savings: Option<Savings>,
    /// Clock offsets of the hosts, where calls between hosts determine them.
    pub clocks: Vec<AlignedClock>,
    /// The slowest trees on a time axis; empty if the spans are not available.
    pub timelines: Vec<Timeline>,
    /// The processes that each wrote a profile; always empty for traces of spans.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// Whether some of the processes are servers that only count calls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
}

/// A process that wrote a separate profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// The type of the process, such as the name of a daemon.
    pub service: String,
    /// The name of the process among those of its type.
    pub instance: String,
    /// Process id on its host; 0 if unknown.
    pub pid: u64,
    /// Whether the process has ended.
    pub last: bool,
    /// The file of its profile.
    pub file: String,
}

/// Sampling by a recorder that kept only some calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sampling {
    /// Number of recorded spans with a sampling weight above one.
    pub spans_weighted: u64,
    /// Estimated number of all spans: the sum of the weights of the recorded ones.
    pub spans_estimated: u128,
    /// Smallest sampling probability of a span.
    pub probability_least: f64,
    /// Largest sampling probability of a span.
    pub probability_most: f64,
}

impl Sampling {
    fn of(profile: &Profile) -> Option<Self> {
        let sampled = &profile.sampled;
        let all = profile.nodes().iter();
        (sampled.spans > 0).then(|| Sampling {
            spans_weighted: sampled.spans,
            spans_estimated: all.map(|node| node.statistics.estimated().count).sum(),
            probability_least: ONE as f64 / sampled.most as f64,
            probability_most: ONE as f64 / sampled.least as f64,
        })
    }
}

/// Numbers of spans and trees before and after compression.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reduction {
    /// Number of spans recorded.
    pub spans_before: u64,
    /// Number of nodes after compression.
    pub spans_after: u64,
    /// Fraction of spans that compression removed.
    pub spans_removed: f64,
    /// Number of call trees recorded.
    pub trees_before: u64,
    /// Number of trees of distinct shape.
    pub trees_after: u64,
    /// Fraction of trees that compression removed.
    pub trees_removed: f64,
    /// Number of rows of all files; in profiles of processes only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// One node of a compressed tree.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeNode {
    /// Name of the calls.
    pub name: String,
    /// Number of calls merged in this node. If the recorder sampled calls, this and all sums are
    /// estimates for all calls.
    pub count: u128,
    /// Number of recorded calls.
    pub read: u64,
    /// Number of calls that reported an error.
    pub errors: u128,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, seconds.
    pub total_s: f64,
    /// Sum of self times, seconds.
    pub self_s: f64,
    /// Shortest duration, seconds; none where a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub min_s: f64,
    /// Longest duration, seconds; none where a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub max_s: f64,
    /// Median duration, seconds, within the error of the histogram; none where a server reported
    /// sums only.
    #[schemars(with = "Option<f64>")]
    pub p50_s: f64,
    /// 99th percentile of durations, seconds, within the error of the histogram; none where a
    /// server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub p99_s: f64,
    /// Standard deviation of durations, seconds; none where a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub sd_s: f64,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: u128,
    /// Whether the calls of this node are failed attempts that their caller retried.
    pub again: bool,
    /// Distribution of the number of these calls within one call of the parent; none for root
    /// calls.
    pub times: Option<Times>,
    /// "blocked" if the recorder classifies most of these calls as waits, else "service".
    pub kind: &'static str,
    /// Number of calls with known durations, where some servers only count calls; otherwise none,
    /// and all durations are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<u128>,
    /// Time for which other processes worked on these calls, ns; in profiles of processes only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_ns: Option<u128>,
    /// The processes that made the calls; in profiles of processes only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// Sums by host if the trace has several hosts; in profiles of processes, sums by process.
    #[schemars(with = "BTreeMap<String, (u64, u128, u128, u128, Option<f64>)>")]
    pub of: BTreeMap<String, OfHost>,
    /// Exemplars: calls to look up in the trace.
    pub exemplars: Vec<ExemplarNote>,
    /// Child nodes, in descending order of total time.
    pub children: Vec<TreeNode>,
}

/// Recorded calls of one host: number, self time (ns), bytes, sum of durations (ns) and standard
/// deviation of durations (ns).
pub type OfHost = (u64, u128, u128, u128, f64);

/// An exemplar: a call to look up in the trace. Its ids are hexadecimal, as in OTLP JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExemplarNote {
    /// Why the exemplar was kept: "slowest" or "sampled".
    pub kind: &'static str,
    /// Trace id, 32 hexadecimal digits.
    pub trace_id: String,
    /// Span id, 16 hexadecimal digits.
    pub span_id: String,
    /// Duration of the call, seconds.
    pub duration_s: f64,
}

impl Report {
    /// Converts a profile to a report.
    pub fn of(profile: &Profile, options: &Options) -> Self {
        let (nodes, shapes) = (profile.nodes().len() as u64, profile.tree_shapes());
        Self {
            spans: profile.spans,
            trees: profile.trees,
            shapes,
            reduction: Reduction {
                spans_before: profile.spans,
                spans_after: nodes,
                spans_removed: removed(profile.spans, nodes),
                trees_before: profile.trees,
                trees_after: shapes,
                trees_removed: removed(profile.trees, shapes),
                rows: None,
            },
            losses: profile.losses.clone(),
            left_out: profile.left_out.clone(),
            sampling: Sampling::of(profile),
            roots: nested(profile),
            rankings: rank(profile, options),
            savings: None,
            clocks: Vec::new(),
            timelines: Vec::new(),
            processes: Vec::new(),
            counted: false,
        }
    }
}

fn removed(before: u64, after: u64) -> f64 {
    if before == 0 {
        0.0
    } else {
        1.0 - after as f64 / before as f64
    }
}

/// Nests the nodes without recursion: from the last to the first, each moves into its parent.
fn nested(profile: &Profile) -> Vec<TreeNode> {
    let nodes = profile.nodes();
    let mut by_host = told_by_host(profile);
    let mut below: Vec<Vec<(u64, TreeNode)>> = vec![Vec::new(); nodes.len()];
    let mut roots = Vec::new();
    for (index, node) in nodes.iter().enumerate().rev() {
        let children = in_order(std::mem::take(&mut below[index]));
        let of = std::mem::take(&mut by_host[index]);
        let written = (
            profile.order_key(node),
            tree_node(profile, node, of, children),
        );
        if node.parent == NONE {
            roots.push(written);
        } else {
            below[node.parent as usize].push(written);
        }
    }
    in_order(roots)
}

/// The calls of each node by host name; empty maps if all calls are of one host.
fn told_by_host(profile: &Profile) -> Vec<BTreeMap<String, OfHost>> {
    let by_host = profile.by_host();
    let hosts: BTreeSet<TextId> = by_host.iter().flat_map(BTreeMap::keys).copied().collect();
    if hosts.len() < 2 {
        return vec![BTreeMap::new(); by_host.len()];
    }
    let told = |(host, share): (&TextId, &Share)| {
        let Share {
            count,
            self_ns,
            bytes,
            total_ns,
            ..
        } = *share;
        let of = (count, self_ns, bytes, total_ns, share.deviation_ns());
        (count > 0).then(|| (profile.host(*host).to_owned(), of))
    };
    let each = by_host.iter();
    each.map(|place| place.iter().filter_map(told).collect())
        .collect()
}

fn in_order(mut siblings: Vec<(u64, TreeNode)>) -> Vec<TreeNode> {
    siblings.sort_by(|(left_key, left), (right_key, right)| {
        let ties = || (&left.name, left_key).cmp(&(&right.name, right_key));
        right.total_ns.cmp(&left.total_ns).then_with(ties)
    });
    siblings.into_iter().map(|(_, node)| node).collect()
}

fn tree_node(
    profile: &Profile,
    node: &Node,
    of: BTreeMap<String, OfHost>,
    children: Vec<TreeNode>,
) -> TreeNode {
    let statistics = &node.statistics;
    let of_kind = |kind, calls: &[Exemplar]| -> Vec<ExemplarNote> {
        calls
            .iter()
            .map(|call| ExemplarNote::of(kind, call))
            .collect()
    };
    let mut exemplars = of_kind("slowest", statistics.slowest());
    exemplars.extend(of_kind("sampled", statistics.sampled()));
    let all = statistics.estimated();
    TreeNode {
        name: profile.name(node).to_owned(),
        count: all.count,
        read: statistics.count,
        errors: all.errors,
        bytes: all.bytes,
        total_s: seconds(all.total_ns),
        self_s: seconds(all.self_ns),
        min_s: seconds(statistics.min_ns.into()),
        max_s: seconds(statistics.max_ns.into()),
        p50_s: seconds(statistics.quantile_ns(0.5).into()),
        p99_s: seconds(statistics.quantile_ns(0.99).into()),
        sd_s: statistics.deviation_ns() / 1e9,
        total_ns: all.total_ns,
        self_ns: all.self_ns,
        again: node.again,
        times: node.repeats.told(),
        kind: if statistics.mostly_waits() {
            "blocked"
        } else {
            "service"
        },
        timed: None,
        served_ns: None,
        instances: Vec::new(),
        of,
        exemplars,
        children,
    }
}

impl ExemplarNote {
    fn of(kind: &'static str, call: &Exemplar) -> Self {
        Self {
            kind,
            trace_id: format!("{:032x}", call.trace_id),
            span_id: format!("{:016x}", call.span_id),
            duration_s: seconds(call.duration_ns.into()),
        }
    }
}

/// Folded stacks, sorted by stack: each line is "root;call;call N", where N is self time in ns.
pub fn folded(profile: &Profile) -> String {
    let paths = Paths::of(profile);
    let mut lines: Vec<String> = paths
        .iter()
        .map(|(path, _, sums)| {
            let frames: Vec<String> = paths.names(path).into_iter().map(frame).collect();
            format!("{} {}\n", frames.join(";"), sums.all.self_ns)
        })
        .collect();
    lines.sort_unstable();
    lines.concat()
}

/// A name without the characters that have a special meaning in folded stacks.
fn frame(name: &str) -> String {
    if name.is_empty() {
        return "(unnamed)".to_owned();
    }
    let safe = |character: char| match character {
        ';' => ':',
        control if control.is_control() => ' ',
        other => other,
    };
    name.chars().map(safe).collect()
}
