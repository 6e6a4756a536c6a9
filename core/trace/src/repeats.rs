//! How often a step is repeated: the counts that a loop's rule in the grammar stands for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::statistics::Numbers;

/// The numbers of calls at one place, one number for each call above that has any there.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Repeats {
    /// Calls above.
    callers: u64,
    least: u64,
    most: u64,
    times: Numbers,
}

/// How often a step came in one call of the step above it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Times {
    /// Calls above in which it came at all.
    pub callers: u64,
    /// The fewest times that it came in one of them.
    pub least: u64,
    /// Half of them had no more.
    pub p50: u64,
    /// The most times.
    pub most: u64,
}

impl Repeats {
    /// One call above had this many.
    #[inline]
    pub fn record(&mut self, times: u64) {
        self.least = self.least_with(times);
        self.most = self.most.max(times);
        self.callers += 1;
        self.times.record(times);
    }

    /// Adds another's; in whatever order, the outcome is the same.
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

    /// What they say; nothing at the top, where nobody calls.
    pub fn told(&self) -> Option<Times> {
        (self.callers > 0).then(|| Times {
            callers: self.callers,
            least: self.least,
            p50: self.times.quantile(0.5).clamp(self.least, self.most),
            most: self.most,
        })
    }
}
