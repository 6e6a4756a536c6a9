//! Distributions of sizes in bytes. A size that is drawn depends only on the key of its random
//! numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{normal, unit};
use crate::SpecError;

/// Largest size, 1 PiB. No file of a test is larger, and sums of sizes cannot overflow.
const MOST_BYTES: u64 = 1 << 50;
/// Largest number of attempts to draw a gamma variate. The method of Marsaglia and Tsang accepts
/// about 19 of 20 attempts, so that all attempts fail only once in about 10^40 samples.
const MOST_POINTS: u64 = 32;

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// One size, bytes.
    Fixed(u64),
    /// Uniform between two sizes, both included.
    Uniform {
        /// Smallest size, bytes.
        low: u64,
        /// Largest size, bytes.
        high: u64,
    },
    /// Lognormal, truncated at the maximum.
    Lognormal {
        /// Median of the untruncated distribution, bytes.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Largest size, bytes.
        max: u64,
    },
    /// Normal, truncated at 0 and at the maximum.
    Normal {
        /// Mean of the untruncated distribution, bytes.
        mean: f64,
        /// Standard deviation of the untruncated distribution, bytes.
        sd: f64,
        /// Largest size, bytes.
        max: u64,
    },
    /// Gamma, truncated at the maximum.
    Gamma {
        /// Mean of the untruncated distribution, bytes.
        mean: f64,
        /// Shape parameter: 1 is exponential; larger values are narrower.
        shape: f64,
        /// Largest size, bytes.
        max: u64,
    },
    /// One of several sizes in bytes, by weight.
    Choice(Vec<(u64, f64)>),
}

impl Size {
    /// Draws a size in bytes. `bits(n)` returns the n-th of the 64-bit random numbers that
    /// determine the size.
    pub(crate) fn drawn(&self, bits: impl Fn(u64) -> u64) -> u64 {
        match self {
            Size::Fixed(bytes) => *bytes,
            Size::Uniform { low, high } => low + (unit(bits(0)) * (high - low + 1) as f64) as u64,
            Size::Lognormal { median, sigma, max } => {
                let z = normal(bits(0), bits(1));
                ((median * (sigma * z).exp()) as u64).min(*max)
            }
            Size::Normal { mean, sd, max } => {
                let z = normal(bits(0), bits(1));
                ((mean + sd * z).max(0.0) as u64).min(*max)
            }
            Size::Gamma { mean, shape, max } => {
                ((mean / shape * gamma(*shape, bits)) as u64).min(*max)
            }
            Size::Choice(sizes) => {
                let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
                let mut point = unit(bits(0)) * total;
                for (bytes, weight) in sizes {
                    point -= weight;
                    if point < 0.0 {
                        return *bytes;
                    }
                }
                sizes.last().map_or(0, |(bytes, _)| *bytes)
            }
        }
    }

    /// The largest size in bytes that can be drawn.
    pub fn largest(&self) -> u64 {
        match self {
            Size::Fixed(bytes) => *bytes,
            Size::Uniform { high, .. } => *high,
            Size::Lognormal { max, .. } | Size::Normal { max, .. } | Size::Gamma { max, .. } => {
                *max
            }
            Size::Choice(sizes) => sizes.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0),
        }
    }

    /// Whether all sizes that can be drawn are multiples of `bytes`.
    pub fn is_multiple_of(&self, bytes: u64) -> bool {
        match self {
            Size::Fixed(size) => size.is_multiple_of(bytes),
            Size::Choice(sizes) => sizes.iter().all(|(size, _)| size.is_multiple_of(bytes)),
            _ => false,
        }
    }

    pub(crate) fn validate(&self, key: &'static str) -> Result<(), SpecError> {
        let is_size = |value: f64| value.is_finite() && value > 0.0;
        let is_spread = |value: f64| value.is_finite() && value >= 0.0;
        let is_right = self.largest() <= MOST_BYTES
            && match self {
                Size::Fixed(_) => true,
                Size::Uniform { low, high } => low <= high,
                Size::Lognormal { median, sigma, .. } => is_size(*median) && is_spread(*sigma),
                Size::Normal { mean, sd, .. } => is_size(*mean) && is_spread(*sd),
                Size::Gamma { mean, shape, .. } => is_size(*mean) && is_size(*shape),
                Size::Choice(sizes) => {
                    !sizes.is_empty() && sizes.iter().all(|(_, weight)| is_size(*weight))
                }
            };
        if is_right {
            return Ok(());
        }
        Err(SpecError {
            key,
            value: format!("{self:?}"),
            allowed: "at most 1 PiB; low <= high; positive median, mean, shape and weights; \
                      sigma and sd not negative",
        })
    }
}

/// Draws a gamma variate of scale 1 by the method of Marsaglia and Tsang (2000, "A simple method
/// for generating gamma variables"). If the shape is below 1, the result is U^(1 / shape) times a
/// variate of shape + 1, where U is uniform in (0, 1], as in that paper.
fn gamma(shape: f64, bits: impl Fn(u64) -> u64) -> f64 {
    let (boost, raised) = match shape < 1.0 {
        true => ((1.0 - unit(bits(0))).powf(1.0 / shape), shape + 1.0),
        false => (1.0, shape),
    };
    let d = raised - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    for point in 0..MOST_POINTS {
        let z = normal(bits(1 + 3 * point), bits(2 + 3 * point));
        let v = (1.0 + c * z).powi(3);
        let u = 1.0 - unit(bits(3 + 3 * point));
        if v > 0.0 && u.ln() < 0.5 * z * z + d - d * v + d * v.ln() {
            return boost * d * v;
        }
    }
    boost * d
}
