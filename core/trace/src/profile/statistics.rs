//! Computes statistics over the calls merged at a node of a profile: exact sums, the distribution
//! of durations and a few exemplars.

use dfslab_stats::Histogram;
use serde::{Deserialize, Serialize};

use crate::profile::hosts::HostSums;
use crate::span::sampling::ONE;
use crate::span::{cut_ns, Span};
use crate::tree::shape::mix;

/// Number of slowest calls, and number of randomly sampled calls, that each node keeps as
/// exemplars.
pub const EXEMPLARS_EACH: usize = 2;

/// Largest number of calls for which a node stores each duration instead of a histogram. In an
/// irregular trace, most nodes have one or two calls. A histogram for each of these nodes would
/// take a thousand times the memory of the spans.
const EXACT_MAX: usize = 24;

/// One of the merged calls, which can be looked up in the trace by its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Exemplar {
    /// The trace id of the call.
    pub trace_id: u128,
    /// The span id of the call.
    pub span_id: u64,
    /// Duration of the call, ns.
    pub duration_ns: u64,
}

impl Exemplar {
    fn slowness(&self) -> (u64, u128, u64) {
        (self.duration_ns, self.trace_id, self.span_id)
    }

    /// Returns a pseudo-random number that depends only on the ids of the call. Each node keeps the
    /// calls with the largest numbers as exemplars. This is uniform sampling whose result does not
    /// depend on the order of merging (bottom-k sampling, Cohen & Kaplan 2007).
    fn lot(&self) -> (u64, u128, u64) {
        let of_trace = lot_of_trace(self.trace_id);
        (mix(of_trace ^ self.span_id), self.trace_id, self.span_id)
    }
}

/// Returns a pseudo-random number that depends on the trace's id only. The pseudo-random numbers of
/// the trace's calls are derived from this number.
pub fn lot_of_trace(trace_id: u128) -> u64 {
    mix(trace_id as u64 ^ mix((trace_id >> 64) as u64))
}

/// The durations of a node's calls in ns: a list if there are few calls, else a log-linear
/// histogram.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Numbers {
    Few(Vec<u64>),
    Many(Buckets),
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers::Few(Vec::new())
    }
}

/// The buckets of a histogram, from the bucket of the shortest call to the bucket of the longest
/// call. `first` is the number of the first of these buckets. Buckets outside this range are not
/// stored. This saves memory, because the durations of a step extend over only a few powers of ten
/// and a profile has thousands of steps.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Buckets {
    first: usize,
    counts: Vec<u64>,
}

/// Statistics over all calls at one node of a profile.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Statistics {
    /// Number of calls merged in the node.
    pub count: u64,
    /// Number of calls that reported an error.
    pub errors: u64,
    /// Number of calls that the recorder classifies as waits.
    pub waits: u64,
    /// Bytes moved by all calls.
    pub bytes: u128,
    /// Sum of durations, nanoseconds, exact.
    pub total_ns: u128,
    /// Sum of self times, nanoseconds, exact.
    pub self_ns: u128,
    /// The shortest duration, ns.
    pub min_ns: u64,
    /// The longest duration, ns.
    pub max_ns: u64,
    /// Sum of the durations (`cut_ns`) and of their squares (`squares_ns2`), each duration limited
    /// by the function `cut_ns`.
    cut_ns: u128,
    squares_ns2: u128,
    durations: Numbers,
    slowest: Vec<Exemplar>,
    sampled: Vec<Exemplar>,
    /// The limits above which a call can become an exemplar: the duration in ns (`least_slow_ns`)
    /// and the pseudo-random number (`least_lot`). A call that is below both limits needs no
    /// further check.
    least_slow_ns: u64,
    least_lot: u64,
    /// Sums over the calls that were not recorded, as the sampling weights estimate them. None
    /// without sampling.
    beyond: Option<Box<CallSums>>,
}

/// Sums over calls. In the result of `Statistics::estimated`, these are all calls, recorded or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct CallSums {
    /// Number of calls.
    pub count: u128,
    /// Number of calls that reported an error.
    pub errors: u128,
    /// Bytes moved.
    pub bytes: u128,
    /// Sum of durations, ns.
    pub total_ns: u128,
    /// Sum of self times, ns.
    pub self_ns: u128,
}

impl CallSums {
    /// Combines each sum with the corresponding sum of `other` by the function `change`.
    fn with(self, other: CallSums, change: impl Fn(u128, u128) -> u128) -> CallSums {
        CallSums {
            count: change(self.count, other.count),
            errors: change(self.errors, other.errors),
            bytes: change(self.bytes, other.bytes),
            total_ns: change(self.total_ns, other.total_ns),
            self_ns: change(self.self_ns, other.self_ns),
        }
    }

    /// Adds the sums of `other`.
    pub fn add(&mut self, other: CallSums) {
        *self = self.with(other, u128::saturating_add);
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            count: 0,
            errors: 0,
            waits: 0,
            bytes: 0,
            total_ns: 0,
            self_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            cut_ns: 0,
            squares_ns2: 0,
            durations: Numbers::default(),
            slowest: Vec::new(),
            sampled: Vec::new(),
            least_slow_ns: 0,
            least_lot: 0,
            beyond: None,
        }
    }
}

impl Statistics {
    /// Adds one call with the self time `self_ns`. `of_trace` is the pseudo-random number of the
    /// call's trace (`lot_of_trace`).
    #[inline(always)]
    pub fn record(&mut self, span: &Span, self_ns: u64, of_trace: u64) {
        let duration_ns = span.duration_ns();
        self.count += 1;
        self.errors += u64::from(span.status_error);
        self.waits += u64::from(span.wait);
        self.bytes += u128::from(span.bytes);
        self.total_ns += u128::from(duration_ns);
        self.self_ns += u128::from(self_ns);
        self.min_ns = self.min_ns.min(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
        let cut_ns = cut_ns(duration_ns);
        self.cut_ns += u128::from(cut_ns);
        self.squares_ns2 += u128::from(cut_ns) * u128::from(cut_ns);
        self.durations.record(cut_ns);
        let call = Exemplar {
            trace_id: span.trace_id,
            span_id: span.span_id,
            duration_ns,
        };
        self.remember(call, of_trace);
    }

    /// Adds estimates for the unrecorded calls that the recorded call `span` represents. The number
    /// of these calls is `weight` minus one. `weight` is in units of 2^-20 and is at least one (the
    /// constant `ONE`).
    #[cold]
    pub fn weigh(&mut self, span: &Span, self_ns: u64, weight: u64) {
        let more = u128::from(weight - ONE);
        let call = CallSums {
            count: 1,
            errors: span.status_error.into(),
            bytes: span.bytes.into(),
            total_ns: span.duration_ns().into(),
            self_ns: self_ns.into(),
        };
        let beyond = call.with(call, |value, _| value.saturating_mul(more));
        self.beyond.get_or_insert_default().add(beyond);
    }

    /// Returns the sums over all calls. The share of the unrecorded calls is estimated from the
    /// sampling weights. If all calls were recorded, the sums are exact.
    pub fn estimated(&self) -> CallSums {
        let recorded = CallSums {
            count: self.count.into(),
            errors: self.errors.into(),
            bytes: self.bytes,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
        };
        let Some(beyond) = &self.beyond else {
            return recorded;
        };
        let half = u128::from(ONE / 2);
        recorded.with(**beyond, |own, more| {
            own + more.saturating_add(half) / u128::from(ONE)
        })
    }

    /// Adds the statistics of other calls. The order of merging does not matter.
    pub fn merge(&mut self, other: &Statistics) {
        self.count += other.count;
        self.errors += other.errors;
        self.waits += other.waits;
        self.bytes += other.bytes;
        self.total_ns += other.total_ns;
        self.self_ns += other.self_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.cut_ns += other.cut_ns;
        self.squares_ns2 += other.squares_ns2;
        self.durations.merge(&other.durations);
        if let Some(beyond) = &other.beyond {
            self.beyond.get_or_insert_default().add(**beyond);
        }
        for &exemplar in other.slowest.iter().chain(&other.sampled) {
            self.remember(exemplar, lot_of_trace(exemplar.trace_id));
        }
    }

    /// Whether the recorder classifies more than half of the calls as waits.
    pub fn mostly_waits(&self) -> bool {
        self.waits * 2 > self.count
    }

    /// Returns the sums over all calls of this node as a `HostSums`, which is the type of the sums
    /// for one host.
    pub fn share(&self) -> HostSums {
        HostSums {
            count: self.count,
            bytes: self.bytes,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            squares_ns2: self.squares_ns2,
        }
    }

    /// Returns the quantile of the durations, ns: the duration that the given fraction of the calls
    /// does not exceed.
    pub fn quantile_ns(&self, fraction: f64) -> u64 {
        self.durations
            .quantile(fraction)
            .clamp(self.min_ns.min(self.max_ns), self.max_ns)
    }

    /// Returns the standard deviation of the durations, nanoseconds; 0 without calls.
    pub fn deviation_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let (sum, squares) = (self.cut_ns as f64, self.squares_ns2 as f64);
        let calls = self.count as f64;
        (squares / calls - (sum / calls).powi(2)).max(0.0).sqrt()
    }

    /// The slowest calls, at most `EXEMPLARS_EACH`, in descending order of duration.
    pub fn slowest(&self) -> &[Exemplar] {
        &self.slowest
    }

    /// A uniform random sample of all calls, at most `EXEMPLARS_EACH` calls.
    pub fn sampled(&self) -> &[Exemplar] {
        &self.sampled
    }

    #[inline(always)]
    fn remember(&mut self, exemplar: Exemplar, of_trace: u64) {
        // Once a node has many calls, hardly any further call becomes an exemplar. Two comparisons
        // exclude most calls from the full check.
        if exemplar.duration_ns >= self.least_slow_ns {
            self.remember_slow(exemplar);
        }
        if mix(of_trace ^ exemplar.span_id) >= self.least_lot {
            self.remember_lot(exemplar);
        }
    }

    #[cold]
    fn remember_slow(&mut self, exemplar: Exemplar) {
        keep_largest(&mut self.slowest, exemplar, Exemplar::slowness);
        if let [.., last] = self.slowest[..] {
            let full = self.slowest.len() == EXEMPLARS_EACH;
            self.least_slow_ns = if full { last.duration_ns } else { 0 };
        }
    }

    #[cold]
    fn remember_lot(&mut self, exemplar: Exemplar) {
        keep_largest(&mut self.sampled, exemplar, Exemplar::lot);
        if let [.., last] = self.sampled[..] {
            let full = self.sampled.len() == EXEMPLARS_EACH;
            self.least_lot = if full { last.lot().0 } else { 0 };
        }
    }
}

fn keep_largest<Key: Ord>(
    kept: &mut Vec<Exemplar>,
    exemplar: Exemplar,
    key: impl Fn(&Exemplar) -> Key,
) {
    if kept.len() == EXEMPLARS_EACH && key(&kept[EXEMPLARS_EACH - 1]) >= key(&exemplar) {
        return;
    }
    if kept.contains(&exemplar) {
        return;
    }
    let place = kept.partition_point(|other| key(other) > key(&exemplar));
    kept.insert(place, exemplar);
    kept.truncate(EXEMPLARS_EACH);
}

impl Numbers {
    /// Adds one duration in ns.
    #[inline(always)]
    pub(crate) fn record(&mut self, value: u64) {
        match self {
            Numbers::Many(buckets) => buckets.add(Histogram::bucket_number(value), 1),
            Numbers::Few(values) if values.len() < EXACT_MAX => values.push(value),
            Numbers::Few(_) => self.become_many().add(Histogram::bucket_number(value), 1),
        }
    }

    /// Adds all durations of `other`.
    pub(crate) fn merge(&mut self, other: &Numbers) {
        match other {
            Numbers::Few(values) => values.iter().for_each(|&value| self.record(value)),
            Numbers::Many(theirs) => {
                let mine = self.become_many();
                for (number, &count) in (theirs.first..).zip(&theirs.counts) {
                    mine.add(number, count);
                }
            }
        }
    }

    fn become_many(&mut self) -> &mut Buckets {
        if let Numbers::Few(values) = self {
            let mut buckets = Buckets::default();
            for &value in values.iter() {
                buckets.add(Histogram::bucket_number(value), 1);
            }
            *self = Numbers::Many(buckets);
        }
        match self {
            Numbers::Many(buckets) => buckets,
            Numbers::Few(_) => unreachable!("they have just become many"),
        }
    }

    /// Returns the quantile of the durations by nearest rank, ns.
    pub(crate) fn quantile(&self, fraction: f64) -> u64 {
        match self {
            Numbers::Few(values) if values.is_empty() => 0,
            Numbers::Few(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                let rank = (fraction * sorted.len() as f64).ceil() as usize;
                sorted[rank.clamp(1, sorted.len()) - 1]
            }
            Numbers::Many(buckets) => buckets.quantile(fraction),
        }
    }
}

impl Buckets {
    #[inline]
    fn add(&mut self, number: usize, count: u64) {
        match self.counts.get_mut(number.wrapping_sub(self.first)) {
            Some(held) => *held += count,
            None => self.extend(number, count),
        }
    }

    #[cold]
    fn extend(&mut self, number: usize, count: u64) {
        if self.counts.is_empty() {
            self.first = number;
        }
        if number < self.first {
            let missing = self.first - number;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = number;
        }
        let places = self.counts.len().max(number - self.first + 1);
        self.counts.resize(places, 0);
        self.counts[number - self.first] += count;
    }

    fn quantile(&self, fraction: f64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let rank = ((fraction * all as f64).ceil() as u64).clamp(1, all);
        let mut cumulative = 0;
        for (number, count) in (self.first..).zip(&self.counts) {
            cumulative += count;
            if cumulative >= rank {
                return Histogram::bucket_middle_ns(number);
            }
        }
        unreachable!("every rank lies in a bucket")
    }
}
