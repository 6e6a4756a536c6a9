//! A profile as plain data for other rooms: one JSON document, or folded stacks.

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

/// Everything a profile says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TraceProfile")]
pub struct Report {
    /// Spans recorded.
    pub spans: u64,
    /// Trees before compression.
    pub trees: u64,
    /// Trees after compression.
    pub shapes: u64,
    /// How far compression went.
    pub reduction: Reduction,
    /// What was repaired or dropped, by kind; the kinds are those of the recorder.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub losses: Losses,
    /// What was left out because a user chose so, by rule; nothing of it is in the rest.
    pub left_out: AllLeftOut,
    /// How the recorder sampled, if it did: then counts and sums below are estimates.
    pub sampling: Option<Sampling>,
    /// The compressed trees, the longest total first.
    pub roots: Vec<TreeNode>,
    /// The rankings.
    #[serde(flatten)]
    pub rankings: Rankings,
    /// What each step would gain, where the spans themselves were replayed.
    pub savings: Option<Savings>,
    /// The hosts' clocks, where calls between hosts determine them.
    pub clocks: Vec<AlignedClock>,
    /// The slowest trees in time, where the spans themselves are at hand.
    pub timelines: Vec<Timeline>,
    /// The processes, where each wrote a separate profile: never filled in from spans.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// Whether some of these are servers that only count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
}

/// A process that wrote a separate profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// What it is.
    pub service: String,
    /// Which one it is.
    pub instance: String,
    /// Its number on its host; 0 where it is not known.
    pub pid: u64,
    /// Whether it has ended.
    pub last: bool,
    /// The file of its profile.
    pub file: String,
}

/// What is known of a recorder that kept only some calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sampling {
    /// Spans that stand for more than themselves.
    pub spans_weighted: u64,
    /// All spans, as far as those recorded stand for them.
    pub spans_estimated: u128,
    /// The smallest probability with which one was kept.
    pub probability_least: f64,
    /// The largest.
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

/// Spans and trees before and after compression.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reduction {
    /// Spans recorded.
    pub spans_before: u64,
    /// Nodes kept.
    pub spans_after: u64,
    /// Fraction of spans that compression took away.
    pub spans_removed: f64,
    /// Call trees recorded.
    pub trees_before: u64,
    /// Trees of distinct shape.
    pub trees_after: u64,
    /// Fraction of trees that compression took away.
    pub trees_removed: f64,
    /// Rows of all files, in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// One node of a compressed tree.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeNode {
    /// What was called.
    pub name: String,
    /// Calls merged here; where a recorder kept only some, an estimate of all, as are all sums.
    pub count: u128,
    /// Calls recorded.
    pub read: u64,
    /// Calls that reported an error.
    pub errors: u128,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, seconds.
    pub total_s: f64,
    /// Sum of self times, seconds.
    pub self_s: f64,
    /// Shortest call, seconds; none where a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub min_s: f64,
    /// Longest call, seconds; none where a server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub max_s: f64,
    /// Median duration, seconds, within the histogram's error; none where a
    /// server reported sums only.
    #[schemars(with = "Option<f64>")]
    pub p50_s: f64,
    /// 99th percentile of durations, seconds, within the histogram's error; none where a
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
    /// Whether these calls failed before their caller made the same step again.
    pub again: bool,
    /// How many of them come in one call above that has any; nothing at the top.
    pub times: Option<Times>,
    /// "blocked" where the recorder says that most of these calls only waited, else "service".
    pub kind: &'static str,
    /// Calls with known times, where servers only count calls; else the times of all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<u128>,
    /// Time that other processes worked on these calls, nanoseconds, in profiles of processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_ns: Option<u128>,
    /// The processes that made them, in profiles of processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<String>,
    /// Where the trace has several hosts, each one's calls; in profiles of processes, each one's.
    #[schemars(with = "BTreeMap<String, (u64, u128, u128, u128, Option<f64>)>")]
    pub of: BTreeMap<String, OfHost>,
    /// Calls to look up in the trace.
    pub exemplars: Vec<ExemplarNote>,
    /// The calls below, the longest total first.
    pub children: Vec<TreeNode>,
}

/// One host's calls as they were recorded: how many, their self time (nanoseconds), bytes, sum of
/// durations and standard deviation of durations (nanoseconds).
pub type OfHost = (u64, u128, u128, u128, f64);

/// A call to look up in the trace; its ids are hexadecimal, as in OTLP JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExemplarNote {
    /// Why it was kept: "slowest" or "sampled".
    pub kind: &'static str,
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// How long it took, seconds.
    pub duration_s: f64,
}

impl Report {
    /// Writes a profile out in full.
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

/// Each node's calls by the names of the hosts; nothing where all calls are of one host.
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

/// Folded stacks: "root;call;call N" a line, N being self time in nanoseconds, sorted by stack.
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

/// A name without the characters that have a meaning in folded stacks.
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
