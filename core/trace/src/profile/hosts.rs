//! Sums over the calls at each node of a profile, separately for each host. The calls at a node
//! have the same call path and shape. The sums are stored only for nodes whose calls are of several
//! hosts.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::span::{cut_ns, Span, TextId};
use crate::tree::shape::Mixing;

/// Maximum number of (node, host) pairs for which sums are stored, which bounds the memory. Once
/// the maximum is reached, a call of a further pair is counted for the first host of its node.
const SHARES_MAX: usize = 1 << 17;

/// Sums over the recorded calls of one host at one node of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct HostSums {
    /// Number of calls.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, nanoseconds.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds.
    pub self_ns: u128,
    /// Sum of the squares of durations, ns². The function `cut_ns` limits each duration first, so
    /// that the sum cannot overflow.
    pub squares_ns2: u128,
}

impl HostSums {
    /// Returns the sums of a single call with this self time in nanoseconds.
    pub fn of(span: &Span, self_ns: u64) -> Self {
        let cut = u128::from(cut_ns(span.duration_ns()));
        HostSums {
            count: 1,
            bytes: span.bytes.into(),
            total_ns: span.duration_ns().into(),
            self_ns: self_ns.into(),
            squares_ns2: cut * cut,
        }
    }

    fn add(&mut self, other: &HostSums) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.total_ns += other.total_ns;
        self.self_ns += other.self_ns;
        self.squares_ns2 += other.squares_ns2;
    }

    /// Returns these sums minus the sums `others`. Each of `others` has the sums of another host.
    pub fn without<'a>(mut self, others: impl Iterator<Item = &'a HostSums>) -> Self {
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

/// A map from each host to the sums over its calls at one node.
pub type ByHost = BTreeMap<TextId, HostSums>;

/// Sums over the calls at each node of a profile, by host. The first host of a node, which is the
/// host of its first call, is not stored. Its sums are the sums of the whole node minus the stored
/// sums of the other hosts. For a trace of one host, this table is therefore empty, and each call
/// costs only one comparison.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    shares: HashMap<(u32, TextId), HostSums, Mixing>,
}

impl Elsewhere {
    /// Adds the sums `more` over calls of `host` at the node `place`. `host` must not be the node's
    /// first host. Returns 0.
    ///
    /// If the table is full and has no entry for this node and host, adds nothing and returns the
    /// number of calls in `more`. The caller must then count these calls for the node's first host.
    pub fn add(&mut self, place: u32, host: TextId, more: &HostSums) -> u64 {
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

    /// Returns a map from each node to the stored sums by host. The map has no nodes whose calls
    /// are of one host only.
    pub fn by_place(&self) -> HashMap<u32, ByHost> {
        let mut found: HashMap<u32, ByHost> = HashMap::new();
        for (&(place, host), share) in &self.shares {
            found.entry(place).or_default().insert(host, *share);
        }
        found
    }

    /// Returns all sums as rows (node, host, sums), sorted, to be sent to another process.
    pub fn rows(&self) -> Vec<(u32, TextId, HostSums)> {
        let mut rows: Vec<_> = self
            .shares
            .iter()
            .map(|(&(place, host), share)| (place, host, *share))
            .collect();
        rows.sort_unstable_by_key(|&(place, host, _)| (place, host));
        rows
    }

    /// Creates the table from the rows that `rows` returned.
    pub fn of(rows: &[(u32, TextId, HostSums)]) -> Self {
        let shares = rows
            .iter()
            .map(|&(place, host, share)| ((place, host), share));
        Elsewhere {
            shares: shares.collect(),
        }
    }
}
