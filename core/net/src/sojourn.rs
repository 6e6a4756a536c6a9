//! Times between two firings: exact moments, quantiles from a bounded random sample.

use serde_json::{json, Value as Json};

use crate::clock::seconds;
use crate::stream::Stream;

/// Times kept for quantiles; up to here they are exact.
const SAMPLE_MAX: usize = 20_000;

/// A summary of durations in nanoseconds.
#[derive(Debug)]
pub(crate) struct Sojourn {
    count: u64,
    sum_ns: u128,
    /// Welford's running mean and sum of squared deviations, free of cancellation.
    mean_ns: f64,
    squares: f64,
    least_ns: u64,
    most_ns: u64,
    /// Every time was kept with the same probability (Vitter's algorithm R).
    sample: Vec<u64>,
    stream: Stream,
}

impl Sojourn {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            count: 0,
            sum_ns: 0,
            mean_ns: 0.0,
            squares: 0.0,
            least_ns: u64::MAX,
            most_ns: 0,
            sample: Vec::new(),
            stream,
        }
    }

    pub(crate) fn record(&mut self, duration_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(duration_ns);
        let value = duration_ns as f64;
        let off = value - self.mean_ns;
        self.mean_ns += off / self.count as f64;
        self.squares += off * (value - self.mean_ns);
        self.least_ns = self.least_ns.min(duration_ns);
        self.most_ns = self.most_ns.max(duration_ns);
        if self.sample.len() < SAMPLE_MAX {
            self.sample.push(duration_ns);
        } else {
            let at = self.stream.below(self.count as usize);
            if let Some(cell) = self.sample.get_mut(at) {
                *cell = duration_ns;
            }
        }
    }

    /// Count, moments and quantiles in seconds; without any time only the count.
    pub(crate) fn result(&self) -> Json {
        if self.count == 0 {
            return json!({ "count": 0 });
        }
        let mut sample = self.sample.clone();
        sample.sort_unstable();
        let quantile = |q: f64| {
            let rank = (q * sample.len() as f64).ceil() as usize;
            seconds(sample[rank.clamp(1, sample.len()) - 1])
        };
        let degrees = self.count.saturating_sub(1).max(1) as f64;
        json!({
            "count": self.count,
            "mean_s": self.sum_ns as f64 / self.count as f64 / 1e9,
            "sd_s": (self.squares / degrees).sqrt() / 1e9,
            "min_s": seconds(self.least_ns),
            "max_s": seconds(self.most_ns),
            "p50_s": quantile(0.5),
            "p90_s": quantile(0.9),
            "p99_s": quantile(0.99),
            "sample": sample.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_quantiles_are_those_of_the_values() {
        let mut sojourn = Sojourn::new(Stream::new(1, 0, 0));
        assert_eq!(sojourn.result(), json!({ "count": 0 }));
        (1..=1000u64).for_each(|value| sojourn.record(value * 1_000_000_000));
        let result = sojourn.result();
        assert_eq!(result["mean_s"], 500.5);
        let spread = result["sd_s"].as_f64().expect("a number");
        assert!((spread - 288.819_436).abs() < 1e-6, "{spread}");
        assert_eq!(
            (&result["p50_s"], &result["p99_s"]),
            (&json!(500.0), &json!(990.0))
        );
        assert_eq!(
            (&result["min_s"], &result["max_s"]),
            (&json!(1.0), &json!(1000.0))
        );
    }

    #[test]
    fn a_long_run_keeps_a_fair_sample() {
        let mut sojourn = Sojourn::new(Stream::new(2, 0, 0));
        (0..400_000u64).for_each(|value| sojourn.record(value));
        let median = sojourn.result()["p50_s"].as_f64().expect("a number") * 1e9;
        // The median of 20 000 uniform values has a standard error of 400 000 / (2 sqrt 20 000).
        assert!((median - 200_000.0).abs() < 4.0 * 1_414.0, "{median}");
    }
}
