//! Per-host sums of the calls at each node of a profile, where a trace has several hosts.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::shape::Mixing;
use crate::span::{cut_ns, Span, TextId};

/// Maximum number of per-host sums; beyond it, calls are attributed to their node's first host.
const SHARES_MAX: usize = 1 << 17;

/// Sums over one host's calls at one node, as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Share {
    /// Number of calls.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, nanoseconds.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds.
    pub self_ns: u128,
    /// Sum of the squares of durations, each clamped as in `Statistics`, ns².
    pub squares_ns2: u128,
}

impl Share {
    /// The sums of one call.
    pub fn of(span: &Span, self_ns: u64) -> Self {
        let cut = u128::from(cut_ns(span.duration_ns()));
        Share {
            count: 1,
            bytes: span.bytes.into(),
            total_ns: span.duration_ns().into(),
            self_ns: self_ns.into(),
            squares_ns2: cut * cut,
        }
    }

    fn add(&mut self, other: &Share) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.total_ns += other.total_ns;
        self.self_ns += other.self_ns;
        self.squares_ns2 += other.squares_ns2;
    }

    /// Subtracts the sums of other hosts.
    pub fn without<'a>(mut self, others: impl Iterator<Item = &'a Share>) -> Self {
        for other in others {
            self.count -= other.count;
            self.bytes -= other.bytes;
            self.total_ns -= other.total_ns;
            self.self_ns -= other.self_ns;
            self.squares_ns2 -= other.squares_ns2;
        }
        self
    }

    /// Standard deviation of the durations, nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        let calls = self.count.max(1) as f64;
        let mean = self.total_ns as f64 / calls;
        (self.squares_ns2 as f64 / calls - mean * mean)
            .max(0.0)
            .sqrt()
    }
}

/// Sums of a node's calls by host.
pub type ByHost = BTreeMap<TextId, Share>;

/// Sums over the calls of each host except a node's first host, whose sums are the node's total
/// minus these. For a trace of one host this costs one comparison per call.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    shares: HashMap<(u32, TextId), Share, Mixing>,
}

impl Elsewhere {
    /// Adds calls of a host that is not the node's first. Returns how many of them are attributed
    /// to the first host, because the table is full.
    pub fn add(&mut self, place: u32, host: TextId, more: &Share) -> u64 {
        let key = (place, host);
        if self.shares.len() >= SHARES_MAX && !self.shares.contains_key(&key) {
            return more.count;
        }
        self.shares.entry(key).or_default().add(more);
        0
    }

    /// Whether all calls of each node are from its first host.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// The sums, by node.
    pub fn by_place(&self) -> HashMap<u32, ByHost> {
        let mut found: HashMap<u32, ByHost> = HashMap::new();
        for (&(place, host), share) in &self.shares {
            found.entry(place).or_default().insert(host, *share);
        }
        found
    }

    /// Plain rows for another process, sorted.
    pub fn rows(&self) -> Vec<(u32, TextId, Share)> {
        let mut rows: Vec<_> = self
            .shares
            .iter()
            .map(|(&(place, host), share)| (place, host, *share))
            .collect();
        rows.sort_unstable_by_key(|&(place, host, _)| (place, host));
        rows
    }

    /// Restores the table from such rows.
    pub fn of(rows: &[(u32, TextId, Share)]) -> Self {
        let shares = rows
            .iter()
            .map(|&(place, host, share)| ((place, host), share));
        Elsewhere {
            shares: shares.collect(),
        }
    }
}
