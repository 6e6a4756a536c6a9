//! Value monitors: they observe a number whenever certain transitions fire, and report its mean
//! over the observations and its mean over time.

use crate::clock::seconds;
use crate::definition::FieldType;
use crate::error::{NetError, Result};
use crate::expression::{Binding, Fault, Value};
use crate::options::ValueDefinition;
use crate::report::ObservedValues;
use crate::stream::Stream;

/// Largest number of levels, and largest number of observations, that one monitor may have.
const PARTS_MAX: usize = 10_000;

/// A value monitor that was checked and compiled.
#[derive(Clone, Debug)]
pub(crate) struct ValuePlan {
    /// The value before the first observation; None if the monitor has no value until then.
    initial: Option<f64>,
    /// The levels at time zero.
    levels: Vec<i64>,
    /// For each transition, in ascending order of the index, the changes of levels and the
    /// observations at its firings.
    firings: Vec<(usize, AtFiring)>,
}

/// The actions of a value monitor when one transition fires.
#[derive(Clone, Debug, Default)]
struct AtFiring {
    /// Number of locals of the transition. In expressions, levels come after them.
    locals: usize,
    /// For each changed level, (index of the level, number that is added to it).
    changes: Vec<(usize, Value)>,
    /// For each observation, its condition (None: the observation is always made) and its value.
    observations: Vec<(Option<Value>, Value)>,
}

/// A function that compiles an expression of a value monitor. Its arguments are the text of the
/// expression, the index of the transition, the names of the levels that the expression may read,
/// and the type that the expression must have.
pub(crate) type Compile<'a> = dyn Fn(&str, usize, &[String], FieldType) -> Result<Value> + 'a;

impl ValuePlan {
    /// Checks and compiles a monitor. `transition` finds the index and the number of locals of a
    /// transition by its name.
    pub(crate) fn new(
        monitor: &ValueDefinition,
        transition: &dyn Fn(&str) -> Result<(usize, usize)>,
        compile: &Compile<'_>,
        context: &str,
    ) -> Result<Self> {
        let (levels, observations) = (&monitor.levels, &monitor.observations);
        if levels.len() > PARTS_MAX || observations.len() > PARTS_MAX {
            let reason = format!("has more than {PARTS_MAX} levels or observations");
            return Err(NetError::input(context, reason));
        }
        let names: Vec<String> = levels.iter().map(|one| one.name.clone()).collect();
        let mut plan = Self {
            initial: monitor.initial,
            levels: levels.iter().map(|one| one.initial).collect(),
            firings: Vec::new(),
        };
        for (level, definition) in levels.iter().enumerate() {
            for change in &definition.changes {
                let found = transition(&change.transition)?;
                let by = compile(&change.by, found.0, &[], FieldType::Int)?;
                plan.at(found).changes.push((level, by));
            }
        }
        for one in observations {
            let found = transition(&one.transition)?;
            let when = one.when.as_ref();
            let when = when.map(|text| compile(text, found.0, &names, FieldType::Bool));
            let value = compile(&one.value, found.0, &names, FieldType::Real)?;
            plan.at(found).observations.push((when.transpose()?, value));
        }
        Ok(plan)
    }

    fn at(&mut self, (transition, locals): (usize, usize)) -> &mut AtFiring {
        let spot = self.firings.partition_point(|one| one.0 < transition);
        if self.firings.get(spot).is_none_or(|one| one.0 != transition) {
            let none = AtFiring {
                locals,
                ..AtFiring::default()
            };
            self.firings.insert(spot, (transition, none));
        }
        &mut self.firings[spot].1
    }

    /// The transitions whose firings the monitor observes.
    pub(crate) fn transitions(&self) -> Vec<usize> {
        self.firings.iter().map(|one| one.0).collect()
    }
}

/// The observed numbers of a value monitor in one replication.
#[derive(Debug)]
pub(crate) struct Observed {
    levels: Vec<i64>,
    /// The last observed value, even if it was observed during the warm-up. Before the first
    /// observation, it is the monitor's value at time zero, or None if the monitor has no such
    /// value.
    value: Option<f64>,
    /// The time from which `value` is integrated, ns.
    since_ns: u64,
    /// The time integral of the value and the duration of the integration. `area_ns` is the
    /// integral, in the unit of the value times ns. `lasted_ns` is the duration in ns.
    area_ns: f64,
    lasted_ns: u64,
    count: u64,
    /// Mean of the observed values, and sum of the squared differences from the mean (Welford 1962,
    /// Technometrics 4).
    mean: f64,
    squares: f64,
    sum: f64,
    least: f64,
    most: f64,
}

impl Observed {
    pub(crate) fn new(plan: &ValuePlan) -> Self {
        Self {
            levels: plan.levels.clone(),
            value: plan.initial,
            since_ns: 0,
            area_ns: 0.0,
            lasted_ns: 0,
            count: 0,
            mean: 0.0,
            squares: 0.0,
            sum: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        }
    }

    /// Starts the observation at `now_ns`. If the monitor had a value at time zero, its present
    /// value counts as the first observation. Returns the number of observations.
    pub(crate) fn begin(&mut self, plan: &ValuePlan, now_ns: u64) -> u64 {
        self.since_ns = now_ns;
        if let (Some(_), Some(value)) = (plan.initial, self.value) {
            self.count_in(value);
        }
        self.count
    }

    /// Passes a firing to the monitor, and returns the number of observations so far. `observes` is
    /// false during the warm-up: nothing is counted then, but the levels and the last observed
    /// value change.
    pub(crate) fn fired(
        &mut self,
        plan: &ValuePlan,
        transition: usize,
        binding: Binding<'_>,
        observes: bool,
        unused: &mut Stream,
    ) -> std::result::Result<u64, Fault> {
        let Ok(at) = plan.firings.binary_search_by_key(&transition, |one| one.0) else {
            return Ok(self.count);
        };
        let firing = &plan.firings[at].1;
        for (level, by) in &firing.changes {
            let by = by.of(binding, unused)? as i64;
            let new = self.levels[*level].checked_add(by);
            self.levels[*level] = new.ok_or(Fault::IntegerOverflow)?;
        }
        if firing.observations.is_empty() {
            return Ok(self.count);
        }
        let mut parameters = binding.parameters[..firing.locals].to_vec();
        parameters.extend(self.levels.iter().map(|level| *level as u64));
        let binding = Binding {
            parameters: &parameters,
            ..binding
        };
        for (when, value) in &firing.observations {
            if let Some(when) = when {
                if when.of(binding, unused)? == 0 {
                    continue;
                }
            }
            let value = f64::from_bits(value.of(binding, unused)?);
            self.observe(value, binding.now_ns, observes);
        }
        Ok(self.count)
    }

    fn observe(&mut self, value: f64, now_ns: u64, observes: bool) {
        if observes {
            self.integrate(now_ns);
            self.count_in(value);
        }
        self.value = Some(value);
    }

    fn integrate(&mut self, now_ns: u64) {
        let lasted_ns = now_ns - self.since_ns;
        if let Some(value) = self.value {
            self.area_ns += value * lasted_ns as f64;
            self.lasted_ns += lasted_ns;
        }
        self.since_ns = now_ns;
    }

    fn count_in(&mut self, value: f64) {
        self.count += 1;
        let difference = value - self.mean;
        self.mean += difference / self.count as f64;
        self.squares += difference * (value - self.mean);
        self.sum += value;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// The report of the values observed until the time `end_ns`. `is_begun` is false if the
    /// warm-up never ended.
    pub(crate) fn report(&self, end_ns: u64, is_begun: bool) -> ObservedValues {
        let mut area_ns = self.area_ns;
        let mut lasted_ns = self.lasted_ns;
        if let (Some(value), true) = (self.value, is_begun) {
            area_ns += value * (end_ns - self.since_ns) as f64;
            lasted_ns += end_ns - self.since_ns;
        }
        let any = |value: f64, least_count: u64| (self.count >= least_count).then_some(value);
        let variance = self.squares / self.count.saturating_sub(1) as f64;
        ObservedValues {
            count: self.count,
            sum: self.sum,
            mean: any(self.mean, 1),
            sd: any(variance.max(0.0).sqrt(), 2),
            least: any(self.least, 1),
            most: any(self.most, 1),
            last: self.value,
            time_mean: (lasted_ns > 0).then(|| area_ns / lasted_ns as f64),
            known_s: seconds(lasted_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{compile, run, NetDefinition, RunOptions};

    /// One token circulates: it is in transit for two seconds, and leaves the place as soon as it
    /// arrives.
    fn results(options: &serde_json::Value) -> serde_json::Value {
        let net = json!({
            "name": "round", "colours": {"job": [["n", "int"]]},
            "places": [{"name": "here", "colour": "job", "initial": [[0]]}],
            "transitions": [{"name": "go", "in": [{"place": "here", "var": "j"}],
                "locals": [{"name": "next", "type": "int", "value": "j.n + 1"}],
                "out": [{"place": "here", "token": ["next"], "delay": "2"}]}]
        });
        let net = compile(NetDefinition::from_json(&net.to_string()).unwrap()).unwrap();
        let options = RunOptions::from_json(&options.to_string()).unwrap();
        let found = run(&net, &options, &std::sync::atomic::AtomicBool::new(false)).unwrap();
        found["replications"][0]["monitors"][0].clone()
    }

    fn monitor(initial: Option<f64>) -> serde_json::Value {
        json!({"kind": "value", "initial": initial,
            "levels": [{"name": "fired", "initial": 10,
                "changes": [{"transition": "go", "by": "next - j.n"}]}],
            "observations": [
                {"transition": "go", "value": "fired * next + now()", "when": "next != 2"}]})
    }

    #[test]
    fn values_hold_until_the_next_observation() {
        // The transition fires at 0, 2 and 4 s. The observed value is fired * next + now(). It is
        // 11 * 1 + 0 at 0 s and 13 * 3 + 4 at 4 s. At 2 s nothing is observed, because `next` is 2.
        let found = results(&json!({"end_time_s": 5.0, "monitors": [monitor(None)]}));
        assert_eq!(found["count"], 2);
        assert_eq!(
            (&found["least"], &found["most"]),
            (&json!(11.0), &json!(43.0))
        );
        assert_eq!(
            (&found["mean"], &found["sum"]),
            (&json!(27.0), &json!(54.0))
        );
        assert_eq!(found["sd"], json!(512.0_f64.sqrt()));
        assert_eq!(found["time_mean"], json!((11.0 * 4.0 + 43.0) / 5.0));
    }

    #[test]
    fn a_window_begins_with_the_value_that_holds() {
        let options =
            json!({"end_time_s": 5.0, "warm_up_s": 1.0, "monitors": [monitor(Some(7.0))]});
        let found = results(&options);
        // If the monitor has an initial value, its value at the end of the warm-up counts as an
        // observation. Without an initial value, it does not count.
        assert_eq!(
            (&found["count"], &found["known_s"]),
            (&json!(2), &json!(4.0))
        );
        assert_eq!(found["time_mean"], json!((11.0 * 3.0 + 43.0) / 4.0));
        let options = json!({"end_time_s": 5.0, "warm_up_s": 1.0, "monitors": [monitor(None)]});
        assert_eq!(results(&options)["count"], 1);
    }

    #[test]
    fn a_level_has_a_name_of_its_own() {
        let net = json!({"name": "n", "colours": {"job": []},
            "places": [{"name": "here", "colour": "job"}],
            "transitions": [{"name": "go", "in": [{"place": "here"}], "out": [],
                "locals": [{"name": "x", "type": "int", "value": "1"}]}]});
        let net = compile(NetDefinition::from_json(&net.to_string()).unwrap()).unwrap();
        let options = json!({"monitors": [{"kind": "value",
            "levels": [{"name": "x", "initial": 0, "changes": []}],
            "observations": [{"transition": "go", "value": "x"}]}]});
        let options = RunOptions::from_json(&options.to_string()).unwrap();
        let error = run(&net, &options, &std::sync::atomic::AtomicBool::new(false)).unwrap_err();
        assert!(
            error.to_string().contains("name of another value"),
            "{error}"
        );
    }
}
