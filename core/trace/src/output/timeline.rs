//! Selects the slowest call tree of each type, to be shown on a time axis.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::profile::merged::seconds;
use crate::profile::rank::ReportOptions;
use crate::selection::Selection;
use crate::span::Texts;
use crate::tree::{Forest, NONE};

/// Largest number of types of call trees that are shown. Trees have one type if their root calls
/// have the same name. The types with the greatest total time are shown.
const KINDS_MAX: usize = 3;
/// Largest number of calls of a tree that are shown. The longest calls are shown.
const CALLS_MAX: usize = 100;

/// One call tree on a time axis.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Timeline {
    /// Trace id of the tree, 32 hexadecimal digits. Only in traces of spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Name of the root call.
    pub name: String,
    /// Duration of the root call, seconds.
    pub duration_s: f64,
    /// Number of shorter calls of the tree that are left out.
    pub left_out: u64,
    /// The path of the call in another process that caused this tree. Only in profiles of
    /// processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "call-path"))]
    pub cause: Option<String>,
    /// The calls of the tree, the root call first. Each call follows its caller, and the calls of
    /// one caller are in order of start.
    pub calls: Vec<TimelineCall>,
}

/// One call of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelineCall {
    /// Name of the call.
    pub name: String,
    /// Service and host of the call, as far as they are known.
    pub place: String,
    /// Depth of the call in the tree: the number of calls that enclose it.
    pub depth: u32,
    /// Start of the call, seconds after the start of the tree; negative if the hosts' clocks
    /// disagree.
    pub start_s: f64,
    /// Duration of the call, seconds.
    pub duration_s: f64,
    /// Whether the recorder classifies the call as a wait.
    pub wait: bool,
    /// Whether the call reported an error.
    pub error: bool,
    /// The object on which the call acted (such as a file), as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// Returns the slowest tree of each type, for the types with the greatest total time. Calls that
/// the options drop are omitted.
///
/// # Panics
///
/// If the options are invalid. Invalid options cannot occur here, because reading the files with
/// them would have failed.
pub fn timelines(sample: &Forest, options: &ReportOptions) -> Vec<Timeline> {
    let mut selection = Selection::of(&options.choice).expect("a choice that was read under");
    if !selection.drops() {
        return slowest_of_each(sample, &sample.texts);
    }
    let mut chosen = sample.clone();
    selection.apply(&mut chosen, &sample.texts);
    slowest_of_each(&chosen, &sample.texts)
}

/// The trees of one type: those whose root calls have the same name. The parts are the total time
/// of these trees in ns, the sort key of the slowest tree, and the index of the slowest tree's
/// root.
type Kind = (u128, (u64, u128, u64), u32);

fn slowest_of_each(forest: &Forest, texts: &Texts) -> Vec<Timeline> {
    let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
    for (node, span) in (0u32..).zip(&forest.spans) {
        if forest.parents[node as usize] != NONE {
            continue;
        }
        let slowness = (span.duration_ns(), span.trace_id, span.span_id);
        let kind = kinds.entry(texts.text(span.name));
        let kind = kind.or_insert((0, (0, 0, 0), node));
        kind.0 += u128::from(span.duration_ns());
        if slowness > kind.1 {
            (kind.1, kind.2) = (slowness, node);
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|&(name, (time_ns, ..))| (u128::MAX - time_ns, name));
    kinds.truncate(KINDS_MAX);
    let roots = kinds.into_iter().map(|(_, (_, _, root))| root);
    roots.map(|root| timeline(forest, texts, root)).collect()
}

fn timeline(forest: &Forest, texts: &Texts, root: u32) -> Timeline {
    let mut calls: Vec<(u32, u32)> = Vec::new();
    let mut waiting = vec![(root, 0)];
    while let Some((node, depth)) = waiting.pop() {
        calls.push((node, depth));
        let children = forest.children.get(node).iter().rev();
        waiting.extend(children.map(|&child| (child, depth + 1)));
    }
    let all = calls.len();
    if all > CALLS_MAX {
        let length = |&(node, _): &(u32, u32)| {
            let span = &forest.spans[node as usize];
            (u64::MAX - span.duration_ns(), span.span_id)
        };
        let mut by_length = calls.clone();
        by_length.sort_unstable_by_key(length);
        let last = length(&by_length[CALLS_MAX - 1]);
        calls.retain(|call| call.0 == root || length(call) <= last);
    }
    let top = &forest.spans[root as usize];
    let shown = calls.iter().map(|&(node, depth)| {
        let span = &forest.spans[node as usize];
        let place = [span.service, span.host].map(|id| texts.text(id));
        let after_ns = i128::from(span.start_ns) - i128::from(top.start_ns);
        TimelineCall {
            name: texts.text(span.name).to_owned(),
            place: place.join(" ").trim().to_owned(),
            depth,
            start_s: after_ns as f64 / 1e9,
            duration_s: seconds(span.duration_ns().into()),
            wait: span.wait,
            error: span.status_error,
            about: None,
        }
    });
    Timeline {
        trace_id: Some(format!("{:032x}", top.trace_id)),
        name: texts.text(top.name).to_owned(),
        duration_s: seconds(top.duration_ns().into()),
        left_out: (all - calls.len()) as u64,
        cause: None,
        calls: shown.collect(),
    }
}
