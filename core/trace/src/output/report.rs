//! Makes the report of merged calls, whether they come from spans or from call profiles of
//! processes. Also writes a profile as folded stacks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::output::timeline::Timeline;
use crate::profile::merged::{seconds, ExemplarNote, MergedCalls, MergedNode, OfHost};
use crate::profile::rank::{rank, Paths, Rankings, ReportOptions};
use crate::profile::repeats::Times;
use crate::profile::SpanProfile;
use crate::replay::Savings;
use crate::selection::AllLeftOut;
use crate::span::losses::SpanLosses;
use crate::span::sampling::ONE;
use crate::tree::clocks::AlignedClock;

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
    pub min_s: Option<f64>,
    /// Longest duration, seconds; none if a server reported sums only.
    pub max_s: Option<f64>,
    /// Median duration, seconds, within the error of the histogram; none if a server reported sums
    /// only.
    pub p50_s: Option<f64>,
    /// 99th percentile of durations, seconds, within the error of the histogram; none if a server
    /// reported sums only.
    pub p99_s: Option<f64>,
    /// Standard deviation of durations, seconds; none if a server reported sums only.
    pub sd_s: Option<f64>,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: i128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: i128,
    /// Whether the calls of this node are failed attempts that their caller retried.
    pub again: bool,
    /// The distribution of the number of this node's calls within one call of the parent node.
    /// There is one observation for each call of the parent node. None for root calls.
    pub times: Option<Times>,
    /// What most of the node's calls do: "blocked" or "service". In profiles of processes, this is
    /// a cost class.
    pub kind: String,
    /// Number of calls with known durations, if some servers only count calls. None if all
    /// durations are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<u128>,
    /// Time for which other processes worked on the calls of this node, ns. Only in profiles of
    /// processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_ns: Option<i128>,
    /// The processes that made the calls. Only in profiles of processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// The sums over the calls of each host, by the name of the host. Empty if all calls are of one
    /// host. In profiles of processes, the keys are names of processes instead of hosts.
    #[schemars(with = "BTreeMap<String, (u64, i128, u128, i128, Option<f64>)>")]
    pub of: BTreeMap<String, OfHost>,
    /// Some calls of this node, which can be looked up in the trace (exemplars).
    pub exemplars: Vec<ExemplarNote>,
    /// Child nodes, in descending order of total time.
    pub children: Vec<TreeNode>,
}

impl Report {
    /// Creates the report of a profile of spans, with its rankings. `savings`, clocks and timelines
    /// are empty.
    pub fn of(profile: &SpanProfile, options: &ReportOptions) -> Self {
        Self {
            losses: profile.losses.clone(),
            left_out: profile.left_out.clone(),
            sampling: Sampling::of(profile),
            ..Self::of_merged(profile.merged(), options)
        }
    }

    /// Creates the report of merged calls: the reduction, the nested trees and the rankings. All
    /// other parts are empty. Every parent in `merged` must precede its children.
    pub fn of_merged(merged: MergedCalls, options: &ReportOptions) -> Self {
        let MergedCalls {
            calls,
            trees,
            nodes,
        } = merged;
        let (after, rankings) = (nodes.len() as u64, rank(&nodes, options));
        let roots = nested(nodes);
        let shapes = roots.len() as u64;
        Self {
            spans: calls,
            trees,
            shapes,
            reduction: Reduction {
                spans_before: calls,
                spans_after: after,
                spans_removed: removed(calls, after),
                trees_before: trees,
                trees_after: shapes,
                trees_removed: removed(trees, shapes),
                rows: None,
            },
            losses: SpanLosses::default(),
            left_out: AllLeftOut::default(),
            sampling: None,
            roots,
            rankings,
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

/// Nests nodes into trees, without recursion: moves each node into its parent, from the last node
/// to the first.
fn nested(nodes: Vec<MergedNode>) -> Vec<TreeNode> {
    let mut below: Vec<Vec<(u64, TreeNode)>> = vec![Vec::new(); nodes.len()];
    let mut roots = Vec::new();
    for (index, node) in nodes.into_iter().enumerate().rev() {
        let children = in_order(std::mem::take(&mut below[index]));
        let (above, order_key) = (node.above, node.order_key);
        let siblings = match above {
            None => &mut roots,
            Some(parent) => &mut below[parent as usize],
        };
        siblings.push((order_key, tree_node(node, children)));
    }
    in_order(roots)
}

fn in_order(mut siblings: Vec<(u64, TreeNode)>) -> Vec<TreeNode> {
    siblings.sort_by(|(left_key, left), (right_key, right)| {
        let ties = || (&left.name, left_key).cmp(&(&right.name, right_key));
        right.total_ns.cmp(&left.total_ns).then_with(ties)
    });
    siblings.into_iter().map(|(_, node)| node).collect()
}

fn tree_node(node: MergedNode, children: Vec<TreeNode>) -> TreeNode {
    let by_calls = if node.waits * 2 > node.read {
        "blocked"
    } else {
        "service"
    };
    TreeNode {
        name: node.name,
        count: node.count,
        read: node.read,
        errors: node.errors,
        bytes: node.bytes,
        total_s: seconds(node.total_ns),
        self_s: seconds(node.self_ns),
        min_s: node.min_ns.map(seconds),
        max_s: node.max_ns.map(seconds),
        p50_s: node.p50_ns.map(seconds),
        p99_s: node.p99_ns.map(seconds),
        sd_s: node.sd_ns.map(|deviation_ns| deviation_ns / 1e9),
        total_ns: node.total_ns,
        self_ns: node.self_ns,
        again: node.again,
        times: node.times,
        kind: node.cost_class.unwrap_or_else(|| by_calls.to_owned()),
        timed: node.timed,
        served_ns: node.served_ns,
        instances: node.instances,
        of: node.of,
        exemplars: node.exemplars,
        children,
    }
}

/// Returns the profile as folded stacks, sorted. Each line is "root;call;call N", where N is the
/// self time of the call path in ns.
pub fn folded(profile: &SpanProfile) -> String {
    let nodes = profile.merged().nodes;
    let paths = Paths::of(&nodes);
    let mut lines: Vec<String> = paths
        .iter()
        .map(|(path, sums)| {
            let frames: Vec<String> = paths.names(path).into_iter().map(frame).collect();
            format!("{} {}\n", frames.join(";"), sums.self_ns)
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
