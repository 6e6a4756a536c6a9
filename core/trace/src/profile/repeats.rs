//! Counts how often a step is repeated within one call of its caller. Large counts show that the
//! step is executed in a loop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::statistics::Numbers;

/// The distribution of the number of calls of one node within one call of its parent node. There is
/// one observation for each parent call with at least one call of the node.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Repeats {
    /// Number of parent calls with at least one call of the node.
    callers: u64,
    least: u64,
    most: u64,
    times: Numbers,
}

/// The distribution of the number of calls of a step within one call of its parent step. There is
/// one observation for each parent call with at least one call of the step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Times {
    /// Number of parent calls with at least one call of the step.
    pub callers: u64,
    /// Smallest number of calls of the step within one of the counted parent calls.
    pub least: u64,
    /// Median number of calls of the step within one of the counted parent calls.
    pub p50: u64,
    /// Largest number of calls of the step within one of the counted parent calls.
    pub most: u64,
}

impl Repeats {
    /// Adds one parent call that contains `times` calls of the step.
    #[inline]
    pub fn record(&mut self, times: u64) {
        self.least = self.least_with(times);
        self.most = self.most.max(times);
        self.callers += 1;
        self.times.record(times);
    }

    /// Adds the counts of the same step in another profile. The order of merging does not matter.
    pub fn merge(&mut self, other: &Repeats) {
        if other.callers == 0 {
            return;
        }
        self.least = self.least_with(other.least);
        self.most = self.most.max(other.most);
        self.callers += other.callers;
        self.times.merge(&other.times);
    }

    fn least_with(&self, times: u64) -> u64 {
        match self.callers {
            0 => times,
            _ => self.least.min(times),
        }
    }

    /// Returns the distribution in the form of the report; None for root calls, which have no
    /// parent.
    pub fn distribution(&self) -> Option<Times> {
        (self.callers > 0).then(|| Times {
            callers: self.callers,
            least: self.least,
            p50: self.times.quantile(0.5).clamp(self.least, self.most),
            most: self.most,
        })
    }
}
