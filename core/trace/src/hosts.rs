//! Whose calls those at one place of a profile are: sums by host, where a trace has several.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::shape::Mixing;
use crate::span::{Span, TextId};
use crate::statistics::cut_ns;

/// So many sums are kept apart; calls of hosts beyond are told as those of their place's first.
const SHARES_MAX: usize = 1 << 17;

/// The calls of one host at one place, as they were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Share {
    /// Calls.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, nanoseconds.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds.
    pub self_ns: u128,
    /// Sum of the squares of durations, each cut as `Statistics` cuts them.
    pub squares_ns2: u128,
}

impl Share {
    /// One call.
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

    /// What is left without some.
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

/// A place's calls by the hosts that made them.
pub type ByHost = BTreeMap<TextId, Share>;

/// The calls of every host but each place's first, whose calls are what is left of all: a trace of
/// one host costs a comparison a call.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    shares: HashMap<(u32, TextId), Share, Mixing>,
}

impl Elsewhere {
    /// Adds calls of a host that is not the place's first; the answer is how many are told as the
    /// first host's, because there are too many hosts.
    pub fn add(&mut self, place: u32, host: TextId, more: &Share) -> u64 {
        let key = (place, host);
        if self.shares.len() >= SHARES_MAX && !self.shares.contains_key(&key) {
            return more.count;
        }
        self.shares.entry(key).or_default().add(more);
        0
    }

    /// Whether each place's calls are all of its first host.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// What is kept, by place.
    pub fn by_place(&self) -> HashMap<u32, ByHost> {
        let mut found: HashMap<u32, ByHost> = HashMap::new();
        for (&(place, host), share) in &self.shares {
            found.entry(place).or_default().insert(host, *share);
        }
        found
    }

    /// Rows for another process, in an order of their own.
    pub fn rows(&self) -> Vec<(u32, TextId, Share)> {
        let mut rows: Vec<_> = self
            .shares
            .iter()
            .map(|(&(place, host), share)| (place, host, *share))
            .collect();
        rows.sort_unstable_by_key(|&(place, host, _)| (place, host));
        rows
    }

    /// From such rows.
    pub fn of(rows: &[(u32, TextId, Share)]) -> Self {
        let shares = rows
            .iter()
            .map(|&(place, host, share)| ((place, host), share));
        Elsewhere {
            shares: shares.collect(),
        }
    }
}
