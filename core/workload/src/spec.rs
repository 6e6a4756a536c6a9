//! The stream specification, as data.

use serde::{Deserialize, Serialize};

use crate::OperationKind;

/// Everything that decides a stream of operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Seed of everything random.
    pub seed: u64,
    /// Number of clients.
    pub clients: u32,
    /// Operations of each client.
    pub operations_per_client: u64,
    /// Files that each client starts with, where the mix needs any.
    pub files_per_client: u64,
    /// Operations and their weights.
    pub mix: Vec<Share>,
    /// Bytes of a file.
    pub file_size: FileSize,
    /// Bytes of one read or write call.
    pub transfer_size_bytes: u64,
    /// Which file an operation takes.
    #[serde(default)]
    pub file_choice: FileChoice,
    /// Pause between the operations of a client, in seconds.
    #[serde(default)]
    pub think_time_s: f64,
}

/// An operation's part of the mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The operation.
    pub operation: OperationKind,
    /// Its weight, relative to the others.
    pub weight: f64,
}

/// Distribution of file sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileSize {
    /// All files alike.
    Fixed(u64),
    /// Evenly between two sizes, both included.
    Uniform {
        /// Smallest, bytes.
        low: u64,
        /// Largest, bytes.
        high: u64,
    },
    /// Lognormal, cut off at the top.
    Lognormal {
        /// Median, bytes.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// Largest, bytes.
        max: u64,
    },
}

/// Which file an operation takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileChoice {
    /// One after the other, and again from the first.
    #[default]
    Sequential,
    /// Each with the same probability.
    Uniform,
    /// The k-th file with probability proportional to k to the power of minus this.
    Zipf(f64),
}

/// What is wrong with a specification: key, value, what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("stream.{key} = {value}: {allowed}")]
pub struct SpecError {
    /// The key.
    pub key: &'static str,
    /// Its value, printed.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}

/// More operations than this for one client are a mistake.
const MOST_OPERATIONS: u64 = 1_000_000_000;
/// Every client remembers its files: 10 million take about 1 GB.
const MOST_FILES: u64 = 10_000_000;
const MOST_FILES_TOGETHER: u64 = 100_000_000;
const LONGEST_THINK_TIME_S: f64 = 86_400.0;
/// 1 PiB: no file of a test is larger, and sums of sizes cannot overflow.
const MOST_BYTES: u64 = 1 << 50;

impl StreamSpec {
    /// Check every value; the first that is wrong is named.
    pub fn validate(&self) -> Result<(), SpecError> {
        let wrong = |key, value: String, allowed| {
            Err(SpecError {
                key,
                value,
                allowed,
            })
        };
        if self.clients == 0 || self.clients > 65_536 {
            return wrong("clients", self.clients.to_string(), "1 to 65536");
        }
        if self.operations_per_client == 0 || self.operations_per_client > MOST_OPERATIONS {
            let value = self.operations_per_client.to_string();
            return wrong("operations_per_client", value, "1 to 1000000000");
        }
        if self.mix.is_empty() {
            return wrong("mix", "[]".into(), "at least one operation");
        }
        if self
            .mix
            .iter()
            .any(|s| !(s.weight.is_finite() && s.weight > 0.0))
        {
            return wrong("mix", format!("{:?}", self.mix), "positive, finite weights");
        }
        let needs_files = self.mix.iter().any(|share| share.operation.needs_file());
        if needs_files && self.files_per_client == 0 {
            return wrong("files_per_client", "0".into(), "at least 1 for this mix");
        }
        let together = self
            .files_per_client
            .saturating_mul(u64::from(self.clients));
        if self.files_per_client > MOST_FILES || together > MOST_FILES_TOGETHER {
            let value = self.files_per_client.to_string();
            let allowed = "at most 10000000, and 100000000 over all clients";
            return wrong("files_per_client", value, allowed);
        }
        if self.transfer_size_bytes == 0 || self.transfer_size_bytes > 1 << 30 {
            let value = self.transfer_size_bytes.to_string();
            return wrong("transfer_size_bytes", value, "1 byte to 1 GiB");
        }
        if !(0.0..=LONGEST_THINK_TIME_S).contains(&self.think_time_s) {
            let value = self.think_time_s.to_string();
            return wrong("think_time_s", value, "0 to 86400");
        }
        self.validate_distributions()
    }

    fn validate_distributions(&self) -> Result<(), SpecError> {
        let size_is_right = match self.file_size {
            FileSize::Fixed(bytes) => bytes <= MOST_BYTES,
            FileSize::Uniform { low, high } => low <= high && high <= MOST_BYTES,
            FileSize::Lognormal { median, sigma, max } => {
                let moments = median.is_finite() && median > 0.0 && sigma.is_finite();
                moments && sigma >= 0.0 && max <= MOST_BYTES
            }
        };
        if !size_is_right {
            let value = format!("{:?}", self.file_size);
            return Err(SpecError {
                key: "file_size",
                value,
                allowed: "at most 1 PiB; low <= high; positive median, sigma not negative",
            });
        }
        if let FileChoice::Zipf(exponent) = self.file_choice {
            if !(exponent.is_finite() && exponent >= 0.0) {
                return Err(SpecError {
                    key: "file_choice.zipf",
                    value: exponent.to_string(),
                    allowed: "finite and not negative",
                });
            }
        }
        Ok(())
    }
}
