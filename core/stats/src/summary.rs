//! Summarises a histogram of durations as a few numbers in seconds for human readers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Number of values, mean, standard deviation, extremes and quantiles of durations, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Sum of the values, seconds.
    pub sum_s: f64,
    /// Mean, seconds.
    pub mean_s: f64,
    /// Standard deviation, seconds.
    pub sd_s: f64,
    /// Smallest value, seconds.
    pub min_s: f64,
    /// Largest value, seconds.
    pub max_s: f64,
    /// Median, seconds.
    pub p50_s: f64,
    /// 90th percentile, seconds.
    pub p90_s: f64,
    /// 99th percentile, seconds.
    pub p99_s: f64,
    /// 99.9th percentile, seconds.
    pub p999_s: f64,
}

impl From<&Histogram> for Summary {
    fn from(histogram: &Histogram) -> Self {
        let count = histogram.count();
        if count == 0 {
            return Summary::default();
        }
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let mean_ns = histogram.sum_ns() as f64 / count as f64;
        let square = histogram.sum_of_squares_ns2() as f64 / count as f64;
        Summary {
            count,
            sum_s: histogram.sum_ns() as f64 * 1e-9,
            mean_s: mean_ns * 1e-9,
            sd_s: (square - mean_ns * mean_ns).max(0.0).sqrt() * 1e-9,
            min_s: seconds(histogram.min_ns()),
            max_s: seconds(histogram.max_ns()),
            p50_s: seconds(histogram.quantile_ns(0.50)),
            p90_s: seconds(histogram.quantile_ns(0.90)),
            p99_s: seconds(histogram.quantile_ns(0.99)),
            p999_s: seconds(histogram.quantile_ns(0.999)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_values() {
        let mut histogram = Histogram::new();
        for value in [1_000_000_000u64, 2_000_000_000, 3_000_000_000] {
            histogram.record(value);
        }
        let summary = Summary::from(&histogram);
        assert_eq!(summary.count, 3);
        assert!((summary.mean_s - 2.0).abs() < 1e-12);
        assert!((summary.sd_s - (2.0f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!((summary.min_s, summary.max_s), (1.0, 3.0));
    }

    #[test]
    fn nothing_counted_is_all_zero() {
        assert_eq!(Summary::from(&Histogram::new()), Summary::default());
    }
}
