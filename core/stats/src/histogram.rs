//! A histogram of times in nanoseconds. Each power of two is divided into buckets of equal width,
//! which bounds the relative error of a value. Recording takes constant time, and merging is exact.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Each power of two is divided into 2^7 equal buckets. The middle of a bucket is therefore within
/// 0.4 % of every value in the bucket.
const SUB_BUCKET_BITS: u32 = 7;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;
/// Number of buckets, which suffices for every 64-bit value.
const BUCKETS: usize = ((64 - SUB_BUCKET_BITS as usize) + 1) << SUB_BUCKET_BITS;

/// A histogram of times in nanoseconds. The widths of the buckets are equal within each power of
/// two. Count, sum, minimum and maximum are exact.
///
/// The `hdrhistogram` crate was considered. That crate has no sum and no exact extremes, and it
/// merges two histograms without loss only if their configurations are equal. This histogram always
/// merges exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    minimum: u64,
    maximum: u64,
}

/// A histogram of nanoseconds as data: only buckets that are not empty are listed.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Sparse {
    /// The non-empty buckets as (lower bound in ns, number of values).
    buckets: Vec<(u64, u64)>,
    /// Sum of all values, ns.
    sum: u128,
    /// Sum of the squared values, ns².
    sum_of_squares: u128,
    /// Smallest value, ns; the largest 64-bit integer for an empty histogram.
    minimum: u64,
    /// Largest value, ns; 0 for an empty histogram.
    maximum: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Makes an empty histogram. All of its memory is allocated here.
    pub fn new() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            count: 0,
            sum: 0,
            sum_of_squares: 0,
            minimum: u64::MAX,
            maximum: 0,
        }
    }

    /// Counts one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_in_bucket(value_ns);
    }

    /// Counts one value in nanoseconds, and returns the number of its bucket.
    #[inline]
    pub fn record_in_bucket(&mut self, value_ns: u64) -> usize {
        let index = index_of(value_ns);
        self.counts[index] += 1;
        self.count += 1;
        self.sum += u128::from(value_ns);
        self.sum_of_squares += u128::from(value_ns) * u128::from(value_ns);
        // A new minimum is rare, so a branch costs less than a store for every value.
        if value_ns < self.minimum {
            self.minimum = value_ns;
        }
        if value_ns > self.maximum {
            self.maximum = value_ns;
        }
        index
    }

    /// Counts the value `value_ns` `times` times; 0 times changes nothing.
    pub fn record_many(&mut self, value_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[index_of(value_ns)] += times;
        self.count += times;
        self.sum += u128::from(value_ns) * u128::from(times);
        self.sum_of_squares += u128::from(value_ns) * u128::from(value_ns) * u128::from(times);
        self.minimum = self.minimum.min(value_ns);
        self.maximum = self.maximum.max(value_ns);
    }

    /// The bounds in ns of the bucket that counts a value: its lowest value, and the lowest value
    /// of the next bucket.
    pub fn bucket_of(value_ns: u64) -> (u64, u64) {
        let index = index_of(value_ns);
        let low = low_of(index);
        (low, low.saturating_add(width_of(index)))
    }

    /// The index of the bucket that counts this value in ns. Larger values never have a smaller
    /// index.
    #[inline]
    pub const fn bucket_number(value_ns: u64) -> usize {
        index_of(value_ns)
    }

    /// Returns the value in ns in the middle of bucket `number`.
    pub fn bucket_middle_ns(number: usize) -> u64 {
        middle_of(number)
    }

    /// Raises the maximum to at least this value in ns. This function is for callers that know only
    /// the buckets of their values. Such callers record the lowest value of each bucket and then
    /// set the true maximum.
    pub fn raise_maximum(&mut self, value_ns: u64) {
        self.maximum = self.maximum.max(value_ns);
    }

    /// Adds all values of `other`; the order of merging does not matter.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact sum of the values in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Exact sum of the squared values, ns².
    pub fn sum_of_squares_ns2(&self) -> u128 {
        self.sum_of_squares
    }

    /// Smallest value in nanoseconds; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 {
            0
        } else {
            self.minimum
        }
    }

    /// Largest value in nanoseconds; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.maximum
    }

    /// The `q` quantile of the values in ns, by nearest rank and within 0.4 %; 0 for an empty
    /// histogram. `q` is between 0 and 1; other numbers panic.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        assert!(
            (0.0..=1.0).contains(&q),
            "a quantile lies between 0 and 1, not {q}"
        );
        if self.count == 0 {
            return 0;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut cumulative = 0;
        for (index, count) in self.counts.iter().enumerate() {
            cumulative += count;
            if cumulative >= rank {
                return middle_of(index).clamp(self.minimum, self.maximum);
            }
        }
        self.maximum
    }

    /// Estimates how many values are at most `value_ns`. The values of a bucket are assumed to be
    /// distributed uniformly over it. If `value_ns` is the maximum or above, the number is exact.
    pub fn count_up_to(&self, value_ns: u64) -> f64 {
        if value_ns >= self.maximum {
            return self.count as f64;
        }
        let index = index_of(value_ns);
        let below: u64 = self.counts[..index].iter().sum();
        let low = low_of(index).max(self.minimum);
        let high = (low_of(index) + width_of(index) - 1).min(self.maximum);
        let within = (value_ns + 1).saturating_sub(low) as f64 / (high + 1 - low.min(high)) as f64;
        below as f64 + self.counts[index] as f64 * within
    }

    /// The buckets that are not empty, as (lowest value in ns, number of values), in ascending
    /// order.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| (low_of(index), *count))
            .collect()
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Sparse {
            buckets: self.buckets(),
            sum: self.sum,
            sum_of_squares: self.sum_of_squares,
            minimum: self.minimum,
            maximum: self.maximum,
        }
        .serialize(serializer)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Sparse::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = Sparse::deserialize(deserializer)?;
        let mut histogram = Histogram::new();
        for (low_ns, count) in sparse.buckets {
            histogram.counts[index_of(low_ns)] += count;
            histogram.count += count;
        }
        histogram.sum = sparse.sum;
        histogram.sum_of_squares = sparse.sum_of_squares;
        histogram.minimum = sparse.minimum;
        histogram.maximum = sparse.maximum;
        Ok(histogram)
    }
}

/// Index of the bucket of a value. Each value below 128 has a separate bucket. For a larger value,
/// the position of its leading bit determines the power of two, and the next seven bits determine
/// the bucket within this power. The indices of the next power of two follow without a gap.
#[inline]
const fn index_of(value: u64) -> usize {
    let shift = (value | SUB_BUCKETS).ilog2() - SUB_BUCKET_BITS;
    (((shift as u64) << SUB_BUCKET_BITS) + (value >> shift)) as usize
}

fn low_of(index: usize) -> u64 {
    let index = index as u64;
    if index < SUB_BUCKETS {
        return index;
    }
    let shift = (index >> SUB_BUCKET_BITS) - 1;
    (SUB_BUCKETS + (index & (SUB_BUCKETS - 1))) << shift
}

fn middle_of(index: usize) -> u64 {
    let low = low_of(index);
    if (index as u64) < SUB_BUCKETS {
        return low;
    }
    low + width_of(index) / 2
}

fn width_of(index: usize) -> u64 {
    1 << ((index >> SUB_BUCKET_BITS).max(1) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(seed: u64, count: usize) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state >> 11
        };
        (0..count).map(|_| next() >> (next() % 50)).collect()
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        histogram
    }

    #[test]
    fn every_value_is_within_its_error() {
        for value in values(1, 100_000)
            .into_iter()
            .chain([0, 1, 127, 128, 129, u64::MAX])
        {
            let middle = middle_of(index_of(value));
            let error = value.abs_diff(middle) as f64 / (value.max(1)) as f64;
            assert!(error <= 0.004, "{value} is shown as {middle}");
            assert!(low_of(index_of(value)) <= value);
        }
    }

    #[test]
    fn quantiles_match_sorted_values() {
        let mut sorted = values(2, 20_001);
        let histogram = of(&sorted);
        sorted.sort_unstable();
        for q in [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = ((q * sorted.len() as f64).ceil() as usize).max(1);
            let exact = sorted[rank - 1] as f64;
            let shown = histogram.quantile_ns(q) as f64;
            assert!(
                (shown - exact).abs() <= 0.004 * exact + 1.0,
                "{q}: {shown} is not {exact}"
            );
        }
    }

    #[test]
    fn counts_up_to_a_value_are_those_of_sorted_values() {
        let sorted: Vec<u64> = (0..5_000).map(|n| 1_000_000 + 977 * n).collect();
        let histogram = of(&sorted);
        assert_eq!(histogram.count_up_to(999_999), 0.0);
        assert_eq!(histogram.count_up_to(*sorted.last().unwrap()), 5_000.0);
        assert_eq!(Histogram::new().count_up_to(7), 0.0);
        for value in (1_000_000..5_900_000).step_by(12_345) {
            let exact = sorted.iter().filter(|observed| **observed <= value).count() as f64;
            let shown = histogram.count_up_to(value);
            assert!(
                (shown - exact).abs() <= 2.0,
                "{value}: {shown} is not {exact}"
            );
        }
    }

    #[test]
    fn merging_is_exact_in_any_order() {
        let all = values(3, 9_000);
        let parts: Vec<Histogram> = all.chunks(1_000).map(of).collect();
        let mut forwards = Histogram::new();
        let mut backwards = Histogram::new();
        parts.iter().for_each(|part| forwards.merge(part));
        parts.iter().rev().for_each(|part| backwards.merge(part));
        assert_eq!(forwards, of(&all));
        assert_eq!(backwards, of(&all));
    }

    #[test]
    fn merging_is_associative_and_commutative() {
        let merged = |a: &Histogram, b: &Histogram| {
            let mut sum = a.clone();
            sum.merge(b);
            sum
        };
        for seed in 0..100 {
            // The numbers of values are 0 to 99, so that empty histograms are included.
            let [a, b, c] = [0, 1, 2].map(|part| {
                let seed = 3 * seed + part + 10;
                of(&values(seed, (seed * 37 % 100) as usize))
            });
            assert_eq!(merged(&a, &b), merged(&b, &a), "seed {seed}");
            assert_eq!(
                merged(&merged(&a, &b), &c),
                merged(&a, &merged(&b, &c)),
                "seed {seed}"
            );
            assert_eq!(merged(&a, &Histogram::new()), a, "seed {seed}");
        }
    }

    #[test]
    fn many_at_once_are_one_after_the_other() {
        let (mut at_once, mut singly) = (Histogram::new(), Histogram::new());
        for value in values(5, 500) {
            let (low, above) = Histogram::bucket_of(value);
            assert!(low <= value && value < above, "{low} {value} {above}");
            at_once.record_many(low, 3);
            (0..3).for_each(|_| singly.record(low));
        }
        at_once.record_many(u64::MAX, 0);
        assert_eq!(at_once, singly);
    }

    #[test]
    fn the_sparse_form_reads_back_equal() {
        let histogram = of(&values(4, 5_000));
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
    }
}
