//! Merged calls as rows. Spans and the call profiles of processes are both converted to these rows,
//! from which the rankings and the report are made.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::hosts::HostSums;
use crate::profile::repeats::Times;
use crate::profile::statistics::Exemplar;
use crate::profile::{ProfileNode, SpanProfile};
use crate::span::TextId;
use crate::tree::NONE;

/// The calls of traces or of processes' call profiles, merged into the nodes of call trees.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergedCalls {
    /// Number of calls recorded.
    pub calls: u64,
    /// Number of call trees recorded.
    pub trees: u64,
    /// The nodes of the merged trees. A parent precedes its children.
    pub nodes: Vec<MergedNode>,
}

/// One node of merged call trees: calls of one name and one parent node. Sums may be negative where
/// a process's counters were reset between two profiles.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergedNode {
    /// Index of the parent node; none for a root.
    pub above: Option<u32>,
    /// Name of the calls.
    pub name: String,
    /// Name by which the ranking by name merges calls: the name without the process's name.
    pub step: String,
    /// Cost class, which says what the calls do or wait for; none if only `waits` is known.
    pub cost_class: Option<String>,
    /// Whether the rankings include the calls.
    pub ranked: bool,
    /// Number of recorded calls.
    pub read: u64,
    /// Number of recorded calls that wait.
    pub waits: u64,
    /// Number of calls, including the estimated number of unrecorded ones.
    pub count: u128,
    /// Number of calls with known durations; none if all durations are known.
    pub timed: Option<u128>,
    /// Number of calls that reported an error.
    pub errors: u128,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: i128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: i128,
    /// Time for which other processes worked on the calls, nanoseconds; none if unknown.
    pub served_ns: Option<i128>,
    /// Shortest duration, nanoseconds; none if only sums are known.
    pub min_ns: Option<i128>,
    /// Longest duration, nanoseconds; none if only sums are known.
    pub max_ns: Option<i128>,
    /// Median duration, nanoseconds; none if only sums are known.
    pub p50_ns: Option<i128>,
    /// 99th percentile of durations, nanoseconds; none if only sums are known.
    pub p99_ns: Option<i128>,
    /// Standard deviation of durations, nanoseconds; none if only sums are known.
    pub sd_ns: Option<f64>,
    /// The processes that made the calls; empty if they are unknown.
    pub instances: Vec<String>,
    /// The sums over the calls of each host or process, by its name.
    #[schemars(with = "BTreeMap<String, (u64, i128, u128, i128, Option<f64>)>")]
    pub of: BTreeMap<String, OfHost>,
    /// Whether the calls are failed attempts that their caller retried. Known from spans only.
    #[serde(skip)]
    pub again: bool,
    /// The order of sibling nodes with equal names and total times. Known from spans only.
    #[serde(skip)]
    pub order_key: u64,
    /// The distribution of the number of the node's calls within one call of the parent node.
    /// Known from spans only.
    #[serde(skip)]
    pub times: Option<Times>,
    /// Some of the calls, which can be looked up in the trace. Known from spans only.
    #[serde(skip)]
    pub exemplars: Vec<ExemplarNote>,
}

/// Sums over the recorded calls of one host: number of calls, self time (ns), bytes, sum of
/// durations (ns) and standard deviation of durations (ns), none if only sums are known.
pub type OfHost = (u64, i128, u128, i128, Option<f64>);

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

/// Converts nanoseconds to seconds.
pub(crate) fn seconds(nanoseconds: i128) -> f64 {
    nanoseconds as f64 / 1e9
}

impl SpanProfile {
    /// Returns the nodes of the profile as rows, in the same order.
    pub fn merged(&self) -> MergedCalls {
        let rows = self.nodes().iter().zip(sums_by_host(self));
        MergedCalls {
            calls: self.spans,
            trees: self.trees,
            nodes: rows.map(|(node, of)| merged_node(self, node, of)).collect(),
        }
    }
}

fn merged_node(
    profile: &SpanProfile,
    node: &ProfileNode,
    of: BTreeMap<String, OfHost>,
) -> MergedNode {
    let (statistics, name) = (&node.statistics, profile.name(node));
    let all = statistics.estimated();
    let slowest = statistics.slowest().iter();
    let exemplars = slowest.map(|call| ExemplarNote::of(ExemplarKind::Slowest, call));
    let sampled = statistics.sampled().iter();
    let sampled = sampled.map(|call| ExemplarNote::of(ExemplarKind::Sampled, call));
    MergedNode {
        above: (node.parent != NONE).then_some(node.parent),
        name: name.to_owned(),
        step: name.to_owned(),
        cost_class: None,
        ranked: true,
        read: statistics.count,
        waits: statistics.waits,
        count: all.count,
        timed: None,
        errors: all.errors,
        bytes: all.bytes,
        total_ns: signed(all.total_ns),
        self_ns: signed(all.self_ns),
        served_ns: None,
        min_ns: Some(statistics.min_ns.into()),
        max_ns: Some(statistics.max_ns.into()),
        p50_ns: Some(statistics.quantile_ns(0.5).into()),
        p99_ns: Some(statistics.quantile_ns(0.99).into()),
        sd_ns: Some(statistics.deviation_ns()),
        instances: Vec::new(),
        of,
        again: node.again,
        order_key: profile.order_key(node),
        times: node.repeats.distribution(),
        exemplars: exemplars.chain(sampled).collect(),
    }
}

/// Converts a sum to a signed number; sums beyond its range become its largest value.
pub(crate) fn signed(sum: u128) -> i128 {
    sum.try_into().unwrap_or(i128::MAX)
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
        let of = (
            share.count,
            signed(share.self_ns),
            share.bytes,
            signed(share.total_ns),
            Some(share.deviation_ns()),
        );
        (share.count > 0).then(|| (profile.host(*host).to_owned(), of))
    };
    let each = by_host.iter();
    each.map(|place| place.iter().filter_map(of_host).collect())
        .collect()
}
