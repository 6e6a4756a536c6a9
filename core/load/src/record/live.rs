//! Histograms of the latencies of a run that is still in progress. The histograms have few buckets,
//! so that they can be reported several times a second.

use std::sync::atomic::{AtomicU64, Ordering};

use dfslab_stats::Histogram;

/// Number of neighbouring buckets of `Histogram` that form one bucket of the histograms in this
/// file. From one power of two to the next, these histograms have 16 buckets. The middle of a
/// bucket is within 3.2 % of every value in the bucket.
const MERGED: usize = 8;
const BUCKETS: usize = Histogram::bucket_number(u64::MAX) / MERGED + 1;

/// The latencies that one client has counted since they were last added to a `SharedLatencies`.
#[derive(Clone)]
pub struct ClientLatencies {
    counts: Box<[u32; BUCKETS]>,
}

impl ClientLatencies {
    pub fn new() -> Self {
        ClientLatencies {
            counts: Box::new([0; BUCKETS]),
        }
    }

    /// Counts one latency. `bucket` is the number of its bucket in `Histogram`.
    #[inline(always)]
    pub fn record(&mut self, bucket: usize) {
        self.counts[bucket / MERGED] += 1;
    }

    /// Adds the counts to the counts of all clients, and sets the counts of this client to 0.
    pub fn move_to(&mut self, all: &SharedLatencies) {
        for (mine, shared) in self.counts.iter_mut().zip(&all.counts) {
            if *mine > 0 {
                shared.fetch_add(u64::from(std::mem::take(mine)), Ordering::Relaxed);
            }
        }
    }
}

/// The latencies of all clients since the start of the run. Several threads may add latencies at
/// the same time.
pub struct SharedLatencies {
    counts: Vec<AtomicU64>,
}

impl Default for SharedLatencies {
    fn default() -> Self {
        SharedLatencies {
            counts: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl SharedLatencies {
    /// The buckets that are not empty, as (value in the middle of the bucket in ns, number of
    /// latencies), in ascending order.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let loaded = self
            .counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .enumerate();
        loaded
            .filter(|(_, count)| *count > 0)
            .map(|(number, count)| (middle_ns(number), count))
            .collect()
    }
}

/// The value in ns in the middle of bucket `number`: the lowest value of its upper half.
fn middle_ns(number: usize) -> u64 {
    let upper_half = Histogram::bucket_middle_ns(MERGED * number + MERGED / 2);
    Histogram::bucket_of(upper_half).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_ns: &[u64]) -> SharedLatencies {
        let (mut own, all) = (ClientLatencies::new(), SharedLatencies::default());
        let buckets = latencies_ns.iter().copied().map(Histogram::bucket_number);
        buckets.for_each(|bucket| own.record(bucket));
        own.move_to(&all);
        all
    }

    #[test]
    fn a_bucket_is_within_its_error_of_every_value() {
        let powers = (0..64).map(|bits| 1u64 << bits);
        let values = powers.flat_map(|low| [low, low + low / 2, low + (low - 1)]);
        for value in values.chain([0, 5, 1_000, 123_456_789]) {
            let [(middle, 1)] = of(&[value]).buckets()[..] else {
                panic!("{value}: one latency is in one bucket");
            };
            let most = (value as f64 * 0.032).max(4.0);
            assert!(middle.abs_diff(value) as f64 <= most, "{value}: {middle}");
        }
    }

    #[test]
    fn a_recorded_value_is_counted_in_its_own_bucket() {
        let latencies_ns = [0, 127, 128, 1_000_000, 123_456_789, u64::MAX];
        let (mut histogram, mut own) = (Histogram::new(), ClientLatencies::new());
        for latency_ns in latencies_ns {
            own.record(histogram.record_in_bucket(latency_ns));
        }
        let all = SharedLatencies::default();
        own.move_to(&all);
        assert_eq!(all.buckets(), of(&latencies_ns).buckets());
        assert_eq!(histogram.count(), latencies_ns.len() as u64);
    }

    #[test]
    fn latencies_of_clients_are_added_once() {
        let (mut one, mut other) = (ClientLatencies::new(), ClientLatencies::new());
        let all = SharedLatencies::default();
        let [short, long] = [1_000_000, 70_000_000].map(Histogram::bucket_number);
        (0..30).for_each(|_| one.record(short));
        (0..12).for_each(|_| other.record(short));
        other.record(long);
        for _ in 0..2 {
            one.move_to(&all);
            other.move_to(&all);
        }
        let counts: Vec<u64> = all.buckets().iter().map(|bucket| bucket.1).collect();
        assert_eq!(counts, [42, 1]);
    }
}
