//! Monitors observe a run: they count firings, average markings, log values and measure sojourn
//! times. A run without monitors has no cost for them.

mod inscription;
mod observation;

use std::collections::HashMap;

use dfslab_stats::{Histogram, Summary};
use serde_json::{json, Value as Json};

use crate::clock::seconds;
use crate::compiled::CompiledNet;
use crate::definition::FieldType;
use crate::error::{known, NetError, Result};
use crate::expression::{Binding, Fault, Value};
use crate::lists::Lists;
use crate::marking::Area;
use crate::options::{MonitorDefinition, ValueDefinition};
use crate::report::{FiringCount, Log, LogRow, Logged, MonitorReport, PlaceMarking, Sojourn};
use crate::stream::Stream;
use inscription::{inscription, names_of, observed_inscription};
use observation::{Observed, ValuePlan};

/// A monitor that was checked and compiled; all replications share it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: PlanKind,
    pub(crate) warm_up_count: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum PlanKind {
    Count {
        transition: usize,
        when: Option<Value>,
    },
    Marking {
        place: usize,
    },
    Log {
        transition: usize,
        when: Option<Value>,
        fields: Vec<(Value, FieldType)>,
        limit: u64,
    },
    Sojourn {
        from: usize,
        to: usize,
        from_key: Value,
        to_key: Value,
    },
    Value(Box<ValuePlan>),
}

/// The observations of a monitor in one replication.
#[derive(Debug)]
pub(crate) struct Monitor<'p> {
    plan: &'p Plan,
    /// Number of observations skipped so far. A monitor with a warm-up skips a given number of
    /// observations.
    skipped: u64,
    /// Number of observations after the warm-up.
    pub(crate) count: u64,
    rows: Vec<u64>,
    stays: Option<Histogram>,
    /// For each key, the time in ns at which a sojourn began that has not ended yet.
    open: HashMap<u64, u64>,
    unmatched: u64,
    /// The numbers that a value monitor observed.
    observed: Option<Box<Observed>>,
}

/// Checks the monitors against the net and compiles their expressions.
pub(crate) fn plan(net: &CompiledNet, monitors: &[MonitorDefinition]) -> Result<Vec<Plan>> {
    let one = |(index, monitor)| plan_one(net, monitor, &format!("monitor {index}"));
    monitors.iter().enumerate().map(one).collect()
}

fn plan_one(net: &CompiledNet, monitor: &MonitorDefinition, context: &str) -> Result<Plan> {
    let transition = |name: &str| transition_of(net, name, context);
    let typed = |text: &str, transition: usize, wanted| {
        inscription(net, text, transition, wanted)
            .map_err(|reason| NetError::input(format!("{context}, '{text}'"), reason))
    };
    let condition = |when: &Option<String>, at: usize| {
        let bool = Some(FieldType::Bool);
        let condition = when.as_ref().map(|text| typed(text, at, bool));
        Ok::<_, NetError>(condition.transpose()?.map(|(value, _)| value))
    };
    let kind = match monitor {
        MonitorDefinition::Count {
            transition: name,
            when,
            ..
        } => {
            let transition = transition(name)?;
            let when = condition(when, transition)?;
            PlanKind::Count { transition, when }
        }
        MonitorDefinition::Marking { place } => {
            let place = place_of(net, place, context)?;
            PlanKind::Marking { place }
        }
        MonitorDefinition::Log {
            transition: name,
            fields: names,
            when,
            limit,
            ..
        } => {
            let transition = transition(name)?;
            let when = condition(when, transition)?;
            let fields = names.iter().map(|text| typed(text, transition, None));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            refuse_lists(&fields, context)?;
            PlanKind::Log {
                transition,
                when,
                fields,
                limit: *limit,
            }
        }
        MonitorDefinition::Sojourn {
            from,
            to,
            key,
            to_key,
            ..
        } => {
            let (from, to) = (transition(from)?, transition(to)?);
            let int = Some(FieldType::Int);
            let (from_key, _) = typed(key, from, int)?;
            let (to_key, _) = typed(to_key.as_ref().unwrap_or(key), to, int)?;
            PlanKind::Sojourn {
                from,
                to,
                from_key,
                to_key,
            }
        }
        MonitorDefinition::Value(value) => value_plan(net, value, context)?,
    };
    Ok(Plan {
        kind,
        warm_up_count: monitor.warm_up_count(),
    })
}

/// Checks and compiles a value monitor.
fn value_plan(net: &CompiledNet, monitor: &ValueDefinition, context: &str) -> Result<PlanKind> {
    let transition = |name: &str| {
        let at = transition_of(net, name, context)?;
        Ok((at, net.definition.transitions[at].locals.len()))
    };
    let compile = |text: &str, at: usize, levels: &[String], wanted: FieldType| {
        let names = names_of(net, at, levels);
        let compiled = names
            .and_then(|names| observed_inscription(net, text, at, Some(wanted), (&names, true)));
        let wrong = |reason| NetError::input(format!("{context}, '{text}'"), reason);
        Ok(compiled.map_err(wrong)?.0)
    };
    let plan = ValuePlan::new(monitor, &transition, &compile, context)?;
    Ok(PlanKind::Value(Box::new(plan)))
}

/// Rejects logged expressions whose type is a list, a record or a text. Such a value is the number
/// of a cell. The cells are freed when the run ends, before the log is read.
fn refuse_lists(fields: &[(Value, FieldType)], context: &str) -> Result<()> {
    match fields.iter().find(|entry| {
        matches!(
            entry.1,
            FieldType::List(_) | FieldType::Record(_) | FieldType::Text
        )
    }) {
        Some((_, kind)) => Err(NetError::input(
            context,
            format!("a log holds single values, not {kind}; as in length(…)"),
        )),
        None => Ok(()),
    }
}

fn transition_of(net: &CompiledNet, name: &str, context: &str) -> Result<usize> {
    net.transition_index(name).ok_or_else(|| {
        let names = known(net.transition_names());
        NetError::input(context, format!("unknown transition '{name}' ({names})"))
    })
}

fn place_of(net: &CompiledNet, name: &str, context: &str) -> Result<usize> {
    net.place_index(name).ok_or_else(|| {
        let names = known(net.places.iter().map(|place| place.name.as_str()));
        NetError::input(context, format!("unknown place '{name}' ({names})"))
    })
}

impl Plan {
    /// The transitions whose firings the monitor observes.
    pub(crate) fn transitions(&self) -> Vec<usize> {
        match &self.kind {
            PlanKind::Count { transition, .. } | PlanKind::Log { transition, .. } => {
                vec![*transition]
            }
            PlanKind::Sojourn { from, to, .. } if from == to => vec![*from],
            PlanKind::Sojourn { from, to, .. } => vec![*from, *to],
            PlanKind::Value(plan) => plan.transitions(),
            PlanKind::Marking { .. } => Vec::new(),
        }
    }
}

/// The interval of simulated time in which a replication's monitors observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// False if the warm-up never ended, so that the window is empty.
    pub(crate) is_begun: bool,
}

impl<'p> Monitor<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let stays = matches!(plan.kind, PlanKind::Sojourn { .. }).then(Histogram::new);
        let observed = match &plan.kind {
            PlanKind::Value(plan) => Some(Box::new(Observed::new(plan))),
            _ => None,
        };
        let (rows, open) = (Vec::new(), HashMap::new());
        Self {
            plan,
            skipped: 0,
            count: 0,
            rows,
            stays,
            open,
            unmatched: 0,
            observed,
        }
    }

    /// Starts the observation, at the end of the warm-up.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        if let (PlanKind::Value(plan), Some(observed)) = (&self.plan.kind, &mut self.observed) {
            self.count = observed.begin(plan, now_ns);
        }
    }

    /// Passes a firing to the monitor, after the transition's locals were computed. `observes` is
    /// false during the warm-up: the firing is then not counted, but sojourns begin and levels
    /// change.
    pub(crate) fn fired(
        &mut self,
        transition: usize,
        now_ns: u64,
        binding: Binding<'_>,
        observes: bool,
        unused: &mut Stream,
    ) -> std::result::Result<(), Fault> {
        match &self.plan.kind {
            PlanKind::Count { when, .. } if observes => {
                let counts = holds(when.as_ref(), binding, unused)?;
                self.observe_if(counts);
            }
            PlanKind::Log {
                when,
                fields,
                limit,
                ..
            } if observes => {
                if !holds(when.as_ref(), binding, unused)? {
                    return Ok(());
                }
                let keeps = self.observe() && self.count <= *limit;
                self.rows.extend(keeps.then_some(now_ns));
                for (field, _) in fields.iter().filter(|_| keeps) {
                    self.rows.push(field.of(binding, unused)?);
                }
            }
            PlanKind::Sojourn {
                from,
                to,
                from_key,
                to_key,
            } => {
                if transition == *to {
                    let key = to_key.of(binding, unused)?;
                    let started = self.open.remove(&key);
                    match started {
                        _ if !observes => {}
                        Some(start_ns) => {
                            if self.observe() {
                                let stays = self.stays.as_mut().expect("made with the plan");
                                stays.record(now_ns - start_ns);
                            }
                        }
                        None => self.unmatched += 1,
                    }
                }
                if transition == *from {
                    self.open.insert(from_key.of(binding, unused)?, now_ns);
                }
            }
            PlanKind::Value(plan) => {
                let observed = self.observed.as_mut().expect("made with the plan");
                self.count = observed.fired(plan, transition, binding, observes, unused)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn observe_if(&mut self, counts: bool) {
        if counts {
            self.observe();
        }
    }

    /// Counts an observation, or skips it if the monitor's own warm-up has not ended. Returns
    /// whether the observation was counted.
    fn observe(&mut self) -> bool {
        if self.skipped < self.plan.warm_up_count {
            self.skipped += 1;
            return false;
        }
        self.count += 1;
        true
    }

    /// Returns the report of the monitor's measurements. `area` takes the index of a place. It
    /// returns the time integral of the number of tokens in this place, and their number at the
    /// end.
    pub(crate) fn report(
        &self,
        net: &CompiledNet,
        window: Window,
        area: impl Fn(usize) -> (Area, u32),
    ) -> MonitorReport {
        let lasted_ns = window.end_ns - window.start_ns;
        let window_s = seconds(lasted_ns);
        match &self.plan.kind {
            PlanKind::Count { .. } => MonitorReport::Count(FiringCount {
                count: self.count,
                window_s,
                rate_per_s: over(self.count as f64, window_s),
            }),
            PlanKind::Marking { place } => {
                let (area, last) = area(*place);
                MonitorReport::Marking(PlaceMarking {
                    mean: over(area.token_ns as f64, lasted_ns as f64),
                    most: area.most,
                    last,
                    window_s,
                })
            }
            PlanKind::Log { fields, .. } => {
                let rows = self.rows.chunks(fields.len() + 1);
                let rows: Vec<LogRow> = rows.map(|row| log_row(net, row, fields)).collect();
                MonitorReport::Log(Log {
                    count: self.count,
                    dropped: self.count - rows.len() as u64,
                    rows,
                })
            }
            PlanKind::Sojourn { .. } => {
                let stays = self.stays.as_ref().expect("made with the plan");
                MonitorReport::Sojourn(Box::new(Sojourn {
                    times: Summary::from(stays),
                    unfinished: self.open.len(),
                    unmatched: self.unmatched,
                }))
            }
            PlanKind::Value(_) => {
                let observed = self.observed.as_ref().expect("made with the plan");
                MonitorReport::Value(observed.report(window.end_ns, window.is_begun))
            }
        }
    }
}

/// Whether the condition `when` of a monitor holds for a firing; true if there is no condition.
fn holds(
    when: Option<&Value>,
    binding: Binding<'_>,
    unused: &mut Stream,
) -> std::result::Result<bool, Fault> {
    Ok(match when {
        Some(condition) => condition.of(binding, unused)? != 0,
        None => true,
    })
}

/// `amount` divided by the duration of the observation, `lasted`; None if the duration is zero.
fn over(amount: f64, lasted: f64) -> Option<f64> {
    (lasted > 0.0).then(|| amount / lasted)
}

/// A row of a log: the time of the firing, then the values of the logged expressions.
fn log_row(net: &CompiledNet, row: &[u64], fields: &[(Value, FieldType)]) -> LogRow {
    let words = row[1..].iter().zip(fields);
    let values = words.map(|(&word, (_, kind))| {
        single_value(net, word, *kind).expect("the plan refuses fields that are no single values")
    });
    LogRow(row[0], values.collect())
}

/// A word of a token as a value of its type; None if the type is a list, record or text.
fn single_value(net: &CompiledNet, word: u64, kind: FieldType) -> Option<Logged> {
    Some(match kind {
        FieldType::Int => Logged::Integer(word as i64),
        FieldType::Real => Logged::Real(Some(f64::from_bits(word)).filter(|one| one.is_finite())),
        FieldType::Bool => Logged::Boolean(word != 0),
        FieldType::Enum(at) => {
            Logged::Text(net.definition.enums[at as usize].1[word as usize].clone())
        }
        FieldType::Text | FieldType::List(_) | FieldType::Record(_) => return None,
    })
}

/// A field's value as JSON. A real that is NaN or infinite becomes null. `lists` may be None unless
/// the value is a list, a record or a text.
pub(crate) fn word_json(
    net: &CompiledNet,
    lists: Option<&Lists>,
    word: u64,
    kind: FieldType,
) -> Json {
    match kind {
        FieldType::Int | FieldType::Real | FieldType::Bool | FieldType::Enum(_) => {
            json!(single_value(net, word, kind))
        }
        FieldType::Text => {
            let lists = lists.expect("who shows rows has their lists");
            json!(lists.string(word))
        }
        FieldType::List(element) => {
            let lists = lists.expect("who shows rows has their lists");
            let one = |word| {
                let kind = element.field_type().expect("an element has a type");
                word_json(net, Some(lists), word, kind)
            };
            Json::Array(lists.elements(word).map(one).collect())
        }
        FieldType::Record(colour) => {
            let list = lists.expect("who shows rows has their lists");
            let fields = net.definition.fields_of(colour).iter();
            let words = list.elements(word).zip(fields);
            let values = words.map(|(word, field)| word_json(net, lists, word, field.1));
            Json::Array(values.collect())
        }
    }
}
