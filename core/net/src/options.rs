//! The options of a run, such as seeds, stop criteria and monitors, as read from JSON.

use serde::Deserialize;

use crate::clock::{nanoseconds, seconds_text};
use crate::error::{NetError, Result};

/// The options of a run; every key is optional.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// Seed of the run. All random draws depend only on the seed and the number of the replication.
    pub seed: u64,
    /// Number of independent runs of the net.
    pub replications: u32,
    /// Number of the first replication. A later run can continue an earlier run with further
    /// replications. Each replication draws different random values.
    pub first_replication: u32,
    /// Number of threads that run the replications; the results do not depend on it.
    pub threads: u32,
    /// Simulated seconds after which a replication ends.
    pub end_time_s: Option<f64>,
    /// Number of firings after which a replication ends.
    pub max_firings: u64,
    /// Largest number of firings at one instant; more are reported as a livelock.
    pub max_instant_firings: u64,
    /// Largest number of tokens; more are reported as growth without bound.
    pub max_tokens: u64,
    /// Simulated seconds after which monitors begin to observe.
    pub warm_up_s: f64,
    /// The monitors of the run; nothing else is observed.
    pub monitors: Vec<MonitorDefinition>,
    /// The stop criterion: a replication ends when a monitor has made enough observations.
    pub until: Option<Until>,
    /// Whether Little's law and the utilisation law are asserted at the end of a run. They are
    /// asserted at two kinds of stations: those that the engine recognises in the net, and those in
    /// `stations`.
    pub laws: bool,
    /// Queueing stations that the engine does not recognise in the net by itself.
    pub stations: Vec<StationDefinition>,
}

/// A queueing station, as given in the options. Its idle servers wait in the place `idle`, and its
/// tokens in service are in transit to the place `served`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationDefinition {
    /// Name of the place in which idle servers wait.
    pub idle: String,
    /// Name of the place that only served tokens enter. The delays of arcs to the place are service
    /// times.
    pub served: String,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            replications: 1,
            first_replication: 0,
            threads: 1,
            end_time_s: None,
            max_firings: 200_000_000,
            max_instant_firings: 10_000_000,
            max_tokens: 50_000_000,
            warm_up_s: 0.0,
            monitors: Vec::new(),
            until: None,
            laws: false,
            stations: Vec::new(),
        }
    }
}

/// A stop criterion: a number of observations of one monitor.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Index of the monitor in `monitors`.
    pub monitor: usize,
    /// Number of observations after the monitor's warm-up.
    pub count: u64,
}

/// A monitor of a run: it observes firings, a marking, logged values, sojourn times, or a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MonitorDefinition {
    /// Counts the firings of a transition.
    Count {
        /// Name of the transition.
        transition: String,
        /// A condition over the transition's variables. Firings for which it is false are not
        /// counted.
        #[serde(default)]
        when: Option<String>,
        /// Number of firings that are skipped first.
        #[serde(default)]
        warm_up_count: u64,
    },
    /// Observes the time average and the maximum of a place's available tokens.
    Marking {
        /// Name of the place.
        place: String,
    },
    /// Logs the values of expressions at each firing of a transition.
    Log {
        /// Name of the transition.
        transition: String,
        /// Expressions over the transition's variables.
        #[serde(default)]
        fields: Vec<String>,
        /// A condition over the transition's variables. Firings for which it is false are not
        /// logged.
        #[serde(default)]
        when: Option<String>,
        /// Largest number of rows in the log. Later firings are counted but not logged.
        #[serde(default = "log_rows")]
        limit: u64,
        /// Number of firings that are skipped first.
        #[serde(default)]
        warm_up_count: u64,
    },
    /// Measures the time from a firing of one transition to the firing of another with an equal
    /// key.
    Sojourn {
        /// Name of the transition at which the time starts.
        from: String,
        /// Name of the transition at which the time ends.
        to: String,
        /// An int expression over the transition's variables. Two firings belong to one sojourn if
        /// they have equal keys.
        key: String,
        /// The key expression of the transition `to`, if it differs from `key`.
        #[serde(default)]
        to_key: Option<String>,
        /// Number of completed sojourns that are skipped first.
        #[serde(default)]
        warm_up_count: u64,
    },
    /// Observes a number at firings of transitions. Reports the statistics of the number over the
    /// observations, and its average over time. For this average, each value holds until the next
    /// observation.
    Value(ValueDefinition),
}

/// The definition of a value monitor, which observes a number at firings of transitions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueDefinition {
    /// Numbers that the monitor keeps up to date, such as the number of tokens of a place.
    #[serde(default)]
    pub levels: Vec<LevelDefinition>,
    /// The observations, in the order in which they are made at one firing.
    pub observations: Vec<ObservationDefinition>,
    /// The value at time zero. If it is missing, there is no value before the first observation.
    #[serde(default)]
    pub initial: Option<f64>,
}

/// A level of a value monitor: an integer that firings change and that observations may read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelDefinition {
    /// Name of the number in the expressions of observations.
    pub name: String,
    /// The number at time zero.
    pub initial: i64,
    /// The firings that change the number.
    pub changes: Vec<ChangeDefinition>,
}

/// A change of a level at each firing of a transition.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeDefinition {
    /// Name of the transition.
    pub transition: String,
    /// An int expression over the transition's variables and locals, whose value is added to the
    /// level.
    pub by: String,
}

/// An observation of a value monitor at each firing of a transition, after levels were changed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservationDefinition {
    /// Name of the transition.
    pub transition: String,
    /// The observed number: an expression over the transition's variables and locals, the levels of
    /// the monitor, and `now()`.
    pub value: String,
    /// A condition over the names that `value` may contain. If it is false, nothing is observed.
    #[serde(default)]
    pub when: Option<String>,
}

impl MonitorDefinition {
    /// Number of observations that the monitor skips at first.
    pub(crate) fn warm_up_count(&self) -> u64 {
        match self {
            MonitorDefinition::Marking { .. } | MonitorDefinition::Value(_) => 0,
            MonitorDefinition::Count { warm_up_count, .. }
            | MonitorDefinition::Log { warm_up_count, .. }
            | MonitorDefinition::Sojourn { warm_up_count, .. } => *warm_up_count,
        }
    }
}

fn log_rows() -> u64 {
    1_000_000
}

/// Largest number of replications. They are numbered by 32 bits.
const REPLICATIONS_MAX: u32 = 1_000_000;
const THREADS_MAX: u32 = 1_024;
const FIRINGS_MAX: u64 = 1_000_000_000_000;
/// Largest number of tokens: tokens are numbered by 32 bits.
const TOKENS_MAX: u64 = 4_000_000_000;

impl RunOptions {
    /// Reads options from JSON; the message names the key, the value and what is allowed.
    pub fn from_json(text: &str) -> Result<Self> {
        let options: Self = serde_json::from_str(text)
            .map_err(|error| NetError::input("options", error.to_string()))?;
        options.check()?;
        Ok(options)
    }

    /// Rejects values outside their ranges.
    pub fn check(&self) -> Result<()> {
        let within = |key: &str, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let reason = format!("{key} is {value}; it must be between {least} and {most}");
            Err(NetError::input("options", reason))
        };
        within(
            "replications",
            self.replications.into(),
            1,
            REPLICATIONS_MAX.into(),
        )?;
        within(
            "first_replication",
            self.first_replication.into(),
            0,
            REPLICATIONS_MAX.into(),
        )?;
        within("threads", self.threads.into(), 1, THREADS_MAX.into())?;
        within("max_firings", self.max_firings, 1, FIRINGS_MAX)?;
        within(
            "max_instant_firings",
            self.max_instant_firings,
            1,
            FIRINGS_MAX,
        )?;
        within("max_tokens", self.max_tokens, 1, TOKENS_MAX)?;
        for (key, value) in [
            ("warm_up_s", Some(self.warm_up_s)),
            ("end_time_s", self.end_time_s),
        ] {
            if value.is_some_and(|seconds| nanoseconds(seconds).is_none()) {
                let value = seconds_text(value.unwrap_or_default());
                let reason = format!("{key} is {value}; it must be between 0 and 9e9");
                return Err(NetError::input("options", reason));
            }
        }
        if self
            .end_time_s
            .is_some_and(|end| end <= self.warm_up_s && self.warm_up_s > 0.0)
        {
            let reason = format!(
                "warm_up_s is {}; it must be below end_time_s",
                self.warm_up_s
            );
            return Err(NetError::input("options", reason));
        }
        if let Some(until) = self.until {
            let monitors = self.monitors.len();
            if until.monitor >= monitors {
                let index = until.monitor;
                let reason = format!("until.monitor is {index}, but there are {monitors} monitors");
                return Err(NetError::input("options", reason));
            }
            if matches!(
                self.monitors[until.monitor],
                MonitorDefinition::Marking { .. }
            ) {
                let reason = "until.monitor is a marking monitor, which makes no count";
                return Err(NetError::input("options", reason));
            }
            within("until.count", until.count, 1, FIRINGS_MAX)?;
        }
        Ok(())
    }
}
