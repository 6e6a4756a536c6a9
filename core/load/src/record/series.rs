//! Counts the throughput and latency in each second of a run, and finds when the run reached a
//! steady state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SECOND_NS: u64 = 1_000_000_000;
/// Largest number of a second in a series. This second begins one day after the start. Operations
/// that end after it are counted in it.
const MOST_SECONDS: u64 = 86_400;

/// Figures of the operations that ended within one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Number of successful operations.
    pub count: u64,
    /// Number of failed operations.
    pub errors: u64,
    /// Bytes moved by the successful operations.
    pub bytes: u64,
    /// Sum of the response times (open workload) or of the latencies (closed workload) of the
    /// successful operations, ns.
    pub latency_ns_sum: u64,
    /// The longest latency of an operation in this second, or the longest response time in an open
    /// workload, ns.
    pub latency_ns_max: u64,
}

/// The figures of each second of one phase. At the end of a second, the caller gives the totals
/// since the start of the phase. The series stores the difference between these totals and the
/// previous ones as the figures of the second.
#[derive(Clone, Debug)]
pub struct Series {
    seconds: Vec<Second>,
    /// Totals of all seconds before the current one.
    past: Second,
    /// The number of the current second, from 0.
    number: u64,
    end_ns: u64,
}

impl Series {
    /// Creates an empty series whose first second begins at `zero_ns` of the monotonic clock.
    pub fn new(zero_ns: u64) -> Self {
        Series {
            seconds: Vec::new(),
            past: Second::default(),
            number: 0,
            end_ns: zero_ns + SECOND_NS,
        }
    }

    /// Returns the end of the current second, ns of the monotonic clock.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Ends the current second and advances to the second that contains `at_ns`, a later time of
    /// the monotonic clock. `so_far` has the totals since the start of the phase, and the longest
    /// latency within the second that ends.
    pub fn turn(&mut self, so_far: Second, at_ns: u64) {
        self.store(so_far);
        let seconds = 1 + (at_ns - self.end_ns) / SECOND_NS;
        self.number += seconds;
        self.end_ns += seconds * SECOND_NS;
    }

    fn store(&mut self, so_far: Second) {
        let present = so_far.since(&self.past);
        if present == Second::default() {
            return;
        }
        self.past = so_far;
        let place = self.number.min(MOST_SECONDS) as usize;
        if place >= self.seconds.len() {
            self.seconds.resize(place + 1, Second::default());
        }
        self.seconds[place].add(&present);
    }

    /// Returns the figures of each second up to the last one in which an operation ended. `so_far`
    /// has the totals since the phase's start.
    pub fn seconds(&self, so_far: Second) -> Vec<Second> {
        let mut whole = self.clone();
        whole.store(so_far);
        whole.seconds
    }
}

impl Second {
    /// Returns the increase of the totals since `before`. The longest latency is taken from `self`.
    fn since(&self, before: &Second) -> Second {
        Second {
            count: self.count - before.count,
            errors: self.errors - before.errors,
            bytes: self.bytes - before.bytes,
            latency_ns_sum: self.latency_ns_sum - before.latency_ns_sum,
            latency_ns_max: self.latency_ns_max,
        }
    }

    fn add(&mut self, other: &Second) {
        self.count += other.count;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.latency_ns_sum = self.latency_ns_sum.saturating_add(other.latency_ns_sum);
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
    }
}

/// Adds the counts per second `theirs` to `mine`, second by second. `theirs` is from another client
/// or shard that started at the same instant.
pub fn add_seconds(mine: &mut Vec<Second>, theirs: &[Second]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), Second::default());
    }
    mine.iter_mut()
        .zip(theirs)
        .for_each(|(mine, theirs)| mine.add(theirs));
}

/// The steady part of a run, found by MSER-5, and the rate in that part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// Whether a steady state was found in the first half of the run. If not, the other fields are
    /// not reliable.
    pub reached: bool,
    /// Length of the warm-up that is left out, seconds.
    pub from_s: f64,
    /// Number of complete seconds after the warm-up.
    pub seconds: u64,
    /// Successful operations per second after the warm-up.
    pub rate_per_s: f64,
    /// Half-width of the 95 % confidence interval of `rate_per_s`, from the variation between
    /// batches of five seconds.
    pub rate_per_s_half_width: f64,
}

const BATCH: usize = 5;
/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Finds the steady part of a run by the rule MSER-5 (White, Cobb and Spratt 2000), with batches of
/// five seconds. The rule leaves out a warm-up of at most half of the run. It chooses the length of
/// the warm-up for which the mean of the remaining batches has the smallest standard error. Returns
/// None if there are fewer than four batches.
pub fn steady(seconds: &[Second]) -> Option<Steady> {
    // The last second is left out, since it is usually incomplete.
    let whole = &seconds[..seconds.len().saturating_sub(1)];
    let batches: Vec<f64> = whole
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().map(|s| s.count as f64).sum::<f64>() / BATCH as f64)
        .collect();
    let count = batches.len();
    if count < 4 {
        return None;
    }
    let spread = |cut: usize| {
        let left = &batches[cut..];
        let mean = left.iter().sum::<f64>() / left.len() as f64;
        let square = left.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>();
        (mean, square)
    };
    let score = |cut: usize| spread(cut).1 / ((count - cut) as f64).powi(2);
    // At most half of the run is left out. If more could be left out, the few remaining batches
    // might appear steady by chance (Hoad, Robinson and Davies 2010).
    let most = count / 2;
    let cut = (0..=most).min_by(|a, b| score(*a).total_cmp(&score(*b)))?;
    let (mean, square) = spread(cut);
    let left = (count - cut) as f64;
    let t = T.get(count - cut - 2).copied().unwrap_or(1.96);
    Some(Steady {
        reached: cut < most && !drifts(&batches[cut..]),
        from_s: (cut * BATCH) as f64,
        seconds: (BATCH * (count - cut)) as u64,
        rate_per_s: mean,
        rate_per_s_half_width: t * (square / (left - 1.0) / left).sqrt(),
    })
}

/// Whether the mean rates of the first and the second half of the batches differ by more than three
/// standard errors.
fn drifts(batches: &[f64]) -> bool {
    let (first, second) = batches.split_at(batches.len() / 2);
    let moments = |part: &[f64]| {
        let count = part.len() as f64;
        let mean = part.iter().sum::<f64>() / count;
        let square = part.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>();
        (mean, square / count / (count - 1.0).max(1.0))
    };
    let ((one, of_one), (two, of_two)) = (moments(first), moments(second));
    (one - two).abs() > 3.0 * (of_one + of_two).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[u64]) -> Vec<Second> {
        let second = |count: &u64| Second {
            count: *count,
            ..Second::default()
        };
        counts.iter().map(second).collect()
    }

    #[test]
    fn seconds_hold_what_ended_in_them() {
        let (mut series, mut so_far) = (Series::new(5_000), Second::default());
        for (at, latency) in [
            (5_100, 7),
            (1_000_004_999, 9),
            (1_000_005_000, 1),
            (4_000_006_000, 2),
        ] {
            if at >= series.end_ns() {
                series.turn(so_far, at);
                so_far.latency_ns_max = 0;
            }
            so_far.count += 1;
            so_far.bytes += 10;
            so_far.latency_ns_sum += latency;
            so_far.latency_ns_max = so_far.latency_ns_max.max(latency);
        }
        so_far.errors += 1;
        let seconds = series.seconds(so_far);
        let observed: Vec<(u64, u64, u64, u64)> = seconds
            .iter()
            .map(|s| (s.count, s.latency_ns_sum, s.latency_ns_max, s.errors))
            .collect();
        let idle = (0, 0, 0, 0);
        assert_eq!(
            observed,
            [(2, 16, 9, 0), (1, 1, 1, 0), idle, idle, (1, 2, 2, 1)]
        );
        let mut sum = seconds.clone();
        add_seconds(&mut sum, &seconds);
        assert_eq!((sum[0].count, sum[0].latency_ns_max), (4, 9));
    }

    #[test]
    fn a_warm_up_is_cut_off() {
        // The synthetic warm-up lasts 20 s, in which the rate rises from 100 to 1000 a second.
        // After it the rate is steady with small noise.
        let ramp = (0..20u64).map(|s| 100 + 45 * s);
        let noise = (0..81u64).map(|s| 1000 + dfslab_workload::draw(3, s, 0, 0) % 21 - 10);
        let found = steady(&of(&ramp.chain(noise).collect::<Vec<_>>())).unwrap();
        assert!(found.reached);
        assert!((15.0..=25.0).contains(&found.from_s), "{found:?}");
        assert!((found.rate_per_s - 1000.0).abs() <= 2.0 * found.rate_per_s_half_width + 1.0);
        assert!(found.rate_per_s_half_width < 5.0, "{found:?}");
    }

    #[test]
    fn what_never_settles_says_so() {
        let growing: Vec<u64> = (0..101u64).map(|s| 10 * s * s).collect();
        assert!(!steady(&of(&growing)).unwrap().reached);
        assert_eq!(steady(&of(&[5; 20])), None);
        let even = steady(&of(&[5; 21])).unwrap();
        assert_eq!(
            (even.from_s, even.rate_per_s, even.rate_per_s_half_width),
            (0.0, 5.0, 0.0)
        );
    }
}
