//! Estimates the clock offsets between hosts from causality: a call runs while its caller runs.
//!
//! A call between hosts starts no earlier and ends no later than its caller. Each pair of caller
//! and callee therefore allows an interval of offsets of the callee's clock. Asynchronous calls
//! violate this rule, since they outlive their callers. The estimate is therefore made by majority.
//! As in NTP (RFC 5905, section 8), the estimate is the middle of the range of offsets that most
//! pairs allow, and the residual is half the width of this range. A clock is corrected only if
//! fewer pairs allow a zero offset.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::span::TextId;
use crate::tree::{Forest, NONE};

/// The offset of one host's clock from the clock of a reference host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AlignedClock {
    /// Name of the host, as in the spans.
    pub host: String,
    /// Time by which this clock is ahead of the reference host's clock, ns. The host's spans are
    /// moved back by this time.
    pub ahead_ns: i64,
    /// Largest remaining error of `ahead_ns`, ns. If a host is connected with the reference host
    /// only through other hosts, this is the sum of the errors along this chain of hosts.
    pub residual_ns: u64,
    /// Number of calls between hosts on which the estimate is based. If a host is connected with
    /// the reference host only through other hosts, all calls along this chain of hosts are
    /// counted.
    pub calls: u64,
    /// Number of the calls in `calls` that contradict the estimate: asynchronous calls, or calls
    /// during clock drift.
    pub against: u64,
}

/// An estimate of the offset between the clocks of two hosts, from the calls between them. The
/// fields have the same meanings as in `AlignedClock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockOffset {
    ahead_ns: i64,
    residual_ns: u64,
    calls: u64,
    against: u64,
}

/// Estimates the offsets of the clocks of all hosts that are connected by calls. The first entry is
/// the reference host, which is the host with the most root calls. Returns an empty list if no
/// calls connect two hosts.
pub fn clocks(forest: &Forest) -> Vec<AlignedClock> {
    let bounds = bounds_of(forest);
    if bounds.is_empty() {
        return Vec::new();
    }
    let text = |host: TextId| forest.texts.text(host).to_owned();
    let offsets: BTreeMap<(String, String), ClockOffset> = bounds
        .into_iter()
        .map(|((cause, callee), bounds)| ((text(cause), text(callee)), vote(bounds)))
        .collect();
    let first = busiest(forest, &offsets);
    let mut known = BTreeMap::from([(
        first.clone(),
        ClockOffset {
            ahead_ns: 0,
            residual_ns: 0,
            calls: 0,
            against: 0,
        },
    )]);
    while let Some((host, offset)) = nearest(&known, &offsets) {
        known.insert(host, offset);
    }
    let mut found: Vec<AlignedClock> = known
        .into_iter()
        .map(|(host, offset)| AlignedClock {
            host,
            ahead_ns: offset.ahead_ns,
            residual_ns: offset.residual_ns,
            calls: offset.calls,
            against: offset.against,
        })
        .collect();
    found.sort_by_key(|clock| clock.host != first);
    found
}

/// Returns, for each pair of hosts, the offsets of the callee's clock that causality allows. The
/// key is (host of callers, host of callees). The value has one interval for each call between the
/// two hosts that is not longer than its caller, as (smallest offset, largest offset) in ns.
fn bounds_of(forest: &Forest) -> BTreeMap<(TextId, TextId), Vec<(i64, i64)>> {
    let mut bounds: BTreeMap<(TextId, TextId), Vec<(i64, i64)>> = BTreeMap::new();
    for (span, &parent) in forest.spans.iter().zip(&forest.parents) {
        if parent == NONE {
            continue;
        }
        let cause = &forest.spans[parent as usize];
        let apart = cause.host != span.host && cause.host != 0 && span.host != 0;
        if !apart || span.duration_ns() > cause.duration_ns() {
            continue;
        }
        let least = difference(span.end_ns, cause.end_ns);
        let most = difference(span.start_ns, cause.start_ns);
        if let (Some(least), Some(most)) = (least, most) {
            let pair = bounds.entry((cause.host, span.host)).or_default();
            pair.push((least, most));
        }
    }
    bounds
}

fn difference(left: u64, right: u64) -> Option<i64> {
    i64::try_from(i128::from(left) - i128::from(right)).ok()
}

/// Estimates the offset of a callee's clock. `bounds` has one interval of offsets for each call:
/// the offsets in ns that the call allows. The estimate is the middle of the range of offsets that
/// the largest number of calls allows. If the offset zero is allowed by equally many calls, the
/// estimate is zero.
fn vote(bounds: Vec<(i64, i64)>) -> ClockOffset {
    let calls = bounds.len() as u64;
    let allows = |offset: i64| {
        let allowing = |bound: &&(i64, i64)| bound.0 <= offset && offset <= bound.1;
        bounds.iter().filter(allowing).count() as u64
    };
    // Of bounds at equal offsets, the starts of intervals come before the ends, so that touching
    // intervals overlap.
    let mut ends: Vec<(i64, bool)> = bounds
        .iter()
        .flat_map(|&(least, most)| [(least, false), (most, true)])
        .collect();
    ends.sort_unstable();
    let (mut open, mut best, mut range) = (0u64, 0, (0, 0));
    for (index, &(offset, closes)) in ends.iter().enumerate() {
        if closes {
            open -= 1;
            continue;
        }
        open += 1;
        if open > best {
            best = open;
            range = (offset, ends[index + 1].0);
        }
    }
    let (low, high) = range;
    let width = (i128::from(high) - i128::from(low)) as u64;
    if allows(0) == best {
        let residual_ns = low.unsigned_abs().max(high.unsigned_abs());
        let residual_ns = if low <= 0 && 0 <= high {
            residual_ns
        } else {
            width
        };
        return ClockOffset {
            ahead_ns: 0,
            residual_ns,
            calls,
            against: calls - best,
        };
    }
    ClockOffset {
        ahead_ns: low + (width / 2) as i64,
        residual_ns: width.div_ceil(2),
        calls,
        against: calls - best,
    }
}

/// Returns the host with the most root calls. If there are several such hosts, returns the host
/// whose name is first in alphabetical order.
fn busiest(forest: &Forest, offsets: &BTreeMap<(String, String), ClockOffset>) -> String {
    let mut roots: BTreeMap<&str, u64> = BTreeMap::new();
    for (span, &parent) in forest.spans.iter().zip(&forest.parents) {
        if parent == NONE {
            *roots.entry(forest.texts.text(span.host)).or_default() += 1;
        }
    }
    let hosts = offsets.keys().flat_map(|(cause, callee)| [cause, callee]);
    let count = |host: &String| roots.get(host.as_str()).copied().unwrap_or(0);
    hosts
        .min_by(|left, right| (count(right), left).cmp(&(count(left), right)))
        .expect("an offset has two hosts")
        .clone()
}

/// Selects the next host whose offset can be determined. This is a host that is not yet in `known`,
/// but has calls to or from a host in `known`. If there are several such hosts, the host whose
/// offset has the smallest residual error is selected. Returns the host and its offset; None if
/// there is no such host.
fn nearest(
    known: &BTreeMap<String, ClockOffset>,
    offsets: &BTreeMap<(String, String), ClockOffset>,
) -> Option<(String, ClockOffset)> {
    let steps = offsets.iter().filter_map(|((cause, callee), offset)| {
        let (from, to, sign) = match (known.get(cause), known.get(callee)) {
            (Some(from), None) => (from, callee, 1),
            (None, Some(from)) => (from, cause, -1),
            _ => return None,
        };
        let offset = ClockOffset {
            ahead_ns: from
                .ahead_ns
                .saturating_add(offset.ahead_ns.saturating_mul(sign)),
            residual_ns: from.residual_ns.saturating_add(offset.residual_ns),
            calls: from.calls + offset.calls,
            against: from.against + offset.against,
        };
        Some((to.clone(), offset))
    });
    steps.min_by(|left, right| (left.1.residual_ns, &left.0).cmp(&(right.1.residual_ns, &right.0)))
}
