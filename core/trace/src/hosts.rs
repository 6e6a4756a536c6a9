//! Sums over the calls at each node of a profile, separately for each host, where a trace has
//! several hosts.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::shape::Mixing;
use crate::span::{cut_ns, Span, TextId};

/// Maximum number of sums by node and host. Calls of further hosts are counted for the first host
/// of their node.
const SHARES_MAX: usize = 1 << 17;

/// Sums over the recorded calls of one host at one node of a profile.
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
    /// Sum of the squares of durations, ns². Each duration is first limited by `cut_ns`.
    pub squares_ns2: u128,
}

impl Share {
    /// Returns the sums of a single call with this self time in nanoseconds.
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

    /// Subtracts the sums of other hosts from these sums.
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

    /// Standard deviation of the durations of the calls, nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        let calls = self.count.max(1) as f64;
        let mean = self.total_ns as f64 / calls;
        (self.squares_ns2 as f64 / calls - mean * mean)
            .max(0.0)
            .sqrt()
    }
}

/// The sums of a node's calls, by host.
pub type ByHost = BTreeMap<TextId, Share>;

/// For each node of a profile, sums over the calls of every host but the node's first. The sums of
/// the first host are the node's sums minus these. So a trace of one host costs only one comparison
/// per call.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    shares: HashMap<(u32, TextId), Share, Mixing>,
}

impl Elsewhere {
    /// Adds calls of `host` at the node `place`; `host` is not the node's first host. Returns the
    /// number of these calls that are counted for the first host instead, because the table is
    /// full; usually 0.
    pub fn add(&mut self, place: u32, host: TextId, more: &Share) -> u64 {
        let key = (place, host);
        if self.shares.len() >= SHARES_MAX && !self.shares.contains_key(&key) {
            return more.count;
        }
        self.shares.entry(key).or_default().add(more);
        0
    }

    /// Whether each node has calls of one host only.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// Returns the sums by node, and for each node by host.
    pub fn by_place(&self) -> HashMap<u32, ByHost> {
        let mut found: HashMap<u32, ByHost> = HashMap::new();
        for (&(place, host), share) in &self.shares {
            found.entry(place).or_default().insert(host, *share);
        }
        found
    }

    /// Returns all sums as rows (node, host, sums), sorted, to be sent to another process.
    pub fn rows(&self) -> Vec<(u32, TextId, Share)> {
        let mut rows: Vec<_> = self
            .shares
            .iter()
            .map(|(&(place, host), share)| (place, host, *share))
            .collect();
        rows.sort_unstable_by_key(|&(place, host, _)| (place, host));
        rows
    }

    /// Creates the table from the rows that `rows` returned.
    pub fn of(rows: &[(u32, TextId, Share)]) -> Self {
        let shares = rows
            .iter()
            .map(|&(place, host, share)| ((place, host), share));
        Elsewhere {
            shares: shares.collect(),
        }
    }
}
