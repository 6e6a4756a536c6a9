//! Writes a profile for other programs, as one JSON document or as folded stacks.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::output::timeline::Timeline;
use crate::profile::hosts::HostSums;
use crate::profile::rank::{rank, seconds, Paths, Rankings, ReportOptions};
use crate::profile::repeats::Times;
use crate::profile::statistics::Exemplar;
use crate::profile::{ProfileNode, SpanProfile};
use crate::replay::Savings;
use crate::selection::AllLeftOut;
use crate::span::losses::SpanLosses;
use crate::span::sampling::ONE;
use crate::span::TextId;
use crate::tree::clocks::AlignedClock;
use crate::tree::NONE;

/// A profile, with rankings of its calls and the results of analyses of its spans. It is made in
/// one of two ways: from traces of spans, or from profiles that processes wrote while they ran
/// (called profiles of processes).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TraceProfile")]
pub struct Report {
    /// Number of spans recorded.
    pub spans: u64,
    /// Number of call trees before compression.
    pub trees: u64,
    /// Number of call trees after compression.
    pub shapes: u64,
    /// Numbers of spans and trees before and after compression.
    pub reduction: Reduction,
    /// Numbers of repaired or dropped records, by kind. In profiles of processes, the recorder
    /// defines the kinds.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub losses: SpanLosses,
    /// Calls that the user's rules dropped, by rule. No other figure includes them.
    pub left_out: AllLeftOut,
    /// How the recorder sampled calls; none if it recorded all. With sampling, counts and sums are
    /// estimates.
    pub sampling: Option<Sampling>,
    /// The compressed trees, in descending order of total time.
    pub roots: Vec<TreeNode>,
    /// The rankings of call paths and names by self time.
    #[serde(flatten)]
    pub rankings: Rankings,
    /// The estimated end-to-end gain from making each step faster; none if the spans were not
    /// replayed.
    pub savings: Option<Savings>,
    /// Clock offsets of the hosts. Empty if no calls between hosts determine them.
    pub clocks: Vec<AlignedClock>,
    /// The slowest call trees on a time axis; empty if the spans are not available.
    pub timelines: Vec<Timeline>,
    /// The processes that each wrote a profile; always empty in traces of spans.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// Whether some of the processes are servers that only count calls, without durations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
}

/// A process that wrote a profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// The type of the process, such as the name of a daemon.
    pub service: String,
    /// The name of the process, which distinguishes it from others of its type.
    pub instance: String,
    /// Process id on the process's host; 0 if unknown.
    pub pid: u64,
    /// Whether the process has ended.
    pub last: bool,
    /// Name of the file with the profile of the process.
    pub file: String,
}

/// How the recorder sampled calls, if it recorded only some of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sampling {
    /// Number of recorded spans that have a sampling weight above one.
    pub spans_weighted: u64,
    /// Estimated number of all spans, recorded or not: the sum of the sampling weights of the
    /// recorded ones.
    pub spans_estimated: u128,
    /// Smallest probability with which a span was sampled.
    pub probability_least: f64,
    /// Largest probability with which a span was sampled.
    pub probability_most: f64,
}

impl Sampling {
    fn of(profile: &SpanProfile) -> Option<Self> {
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
    /// Number of nodes in the compressed trees.
    pub spans_after: u64,
    /// Fraction of spans that compression removed, from 0 to 1.
    pub spans_removed: f64,
    /// Number of call trees recorded.
    pub trees_before: u64,
    /// Number of trees of distinct shape, after compression.
    pub trees_after: u64,
    /// Fraction of trees that compression removed, from 0 to 1.
    pub trees_removed: f64,
    /// Number of rows in the files of all processes. Only in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// One node of a compressed tree: all calls that have the same shape and the same parent node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeNode {
    /// Name of the calls.
    pub name: String,
    /// Estimated number of calls merged in this node. If the recorder sampled calls, this number
    /// and all sums are estimates for all calls, including unrecorded ones.
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
    /// Shortest duration, seconds; none if a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub min_s: f64,
    /// Longest duration, seconds; none if a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub max_s: f64,
    /// Median duration, seconds, within the error of the histogram; none if a server reported sums
    /// only.
    #[schemars(with = "Option<f64>")]
    pub p50_s: f64,
    /// 99th percentile of durations, seconds, within the error of the histogram; none if a server
    /// reported sums only.
    #[schemars(with = "Option<f64>")]
    pub p99_s: f64,
    /// Standard deviation of durations, seconds; none if a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub sd_s: f64,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: u128,
    /// Whether the calls of this node are failed attempts that their caller retried.
    pub again: bool,
    /// The distribution of the number of this node's calls within one call of the parent node.
    /// There is one observation for each call of the parent node. None for root calls.
    pub times: Option<Times>,
    /// What most of the node's calls do: "blocked" or "service". In profiles of processes, this is
    /// a cost class.
    #[schemars(with = "String")]
    pub kind: NodeKind,
    /// Number of calls with known durations, if some servers only count calls. None if all
    /// durations are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<u128>,
    /// Time for which other processes worked on the calls of this node, ns. Only in profiles of
    /// processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_ns: Option<u128>,
    /// The processes that made the calls. Only in profiles of processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// The sums over the calls of each host, by the name of the host. Empty if all calls are of one
    /// host. In profiles of processes, the keys are names of processes instead of hosts.
    #[schemars(with = "BTreeMap<String, (u64, u128, u128, u128, Option<f64>)>")]
    pub of: BTreeMap<String, OfHost>,
    /// Some calls of this node, which can be looked up in the trace (exemplars).
    pub exemplars: Vec<ExemplarNote>,
    /// Child nodes, in descending order of total time.
    pub children: Vec<TreeNode>,
}

/// What most calls of a node of a trace do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// The recorder classifies the calls as waits.
    Blocked,
    /// All other calls.
    Service,
}

/// Sums over the recorded calls of one host: number of calls, self time (ns), bytes, sum of
/// durations (ns) and standard deviation of durations (ns).
pub type OfHost = (u64, u128, u128, u128, f64);

/// Why a call was kept as an exemplar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExemplarKind {
    /// It is one of the slowest calls of its node.
    Slowest,
    /// It was drawn at random among the calls of its node.
    Sampled,
}

/// A call that can be looked up in the trace (an exemplar). Its ids are hexadecimal, as in OTLP
/// JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExemplarNote {
    /// Why the call was kept.
    pub kind: ExemplarKind,
    /// Trace id of the call, 32 hexadecimal digits.
    pub trace_id: String,
    /// Span id of the call, 16 hexadecimal digits.
    pub span_id: String,
    /// Duration of the call, seconds.
    pub duration_s: f64,
}

impl Report {
    /// Creates the report of a profile, with its rankings. `savings`, clocks, timelines and
    /// processes are empty.
    pub fn of(profile: &SpanProfile, options: &ReportOptions) -> Self {
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

/// Nests the nodes of a profile into trees, without recursion: moves each node into its parent,
/// from the last node to the first.
fn nested(profile: &SpanProfile) -> Vec<TreeNode> {
    let nodes = profile.nodes();
    let mut by_host = sums_by_host(profile);
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

/// Returns the sums over the calls of each host, for each node of the profile in order. The result
/// has one map for each node, from the name of the host to the sums. The maps are empty if all
/// calls are of one host.
fn sums_by_host(profile: &SpanProfile) -> Vec<BTreeMap<String, OfHost>> {
    let by_host = profile.by_host();
    let hosts: BTreeSet<TextId> = by_host.iter().flat_map(BTreeMap::keys).copied().collect();
    if hosts.len() < 2 {
        return vec![BTreeMap::new(); by_host.len()];
    }
    let of_host = |(host, share): (&TextId, &HostSums)| {
        let HostSums {
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
    each.map(|place| place.iter().filter_map(of_host).collect())
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
    profile: &SpanProfile,
    node: &ProfileNode,
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
    let mut exemplars = of_kind(ExemplarKind::Slowest, statistics.slowest());
    exemplars.extend(of_kind(ExemplarKind::Sampled, statistics.sampled()));
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
        times: node.repeats.distribution(),
        kind: if statistics.mostly_waits() {
            NodeKind::Blocked
        } else {
            NodeKind::Service
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
    fn of(kind: ExemplarKind, call: &Exemplar) -> Self {
        Self {
            kind,
            trace_id: format!("{:032x}", call.trace_id),
            span_id: format!("{:016x}", call.span_id),
            duration_s: seconds(call.duration_ns.into()),
        }
    }
}

/// Returns the profile as folded stacks, sorted. Each line is "root;call;call N", where N is the
/// self time of the call path in ns.
pub fn folded(profile: &SpanProfile) -> String {
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

/// Replaces those characters of a name that have a special meaning in folded stacks.
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
