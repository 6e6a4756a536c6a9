//! From a net as data to a compiled net: every name resolved, every inscription typed.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value as Json;

use crate::compiled::{
    output_context, transition_context, Discipline, Dispatch, Input, Net, Output, Place,
    Transition, View,
};
use crate::definition::{FieldType, InputDefinition, NetDefinition, OutputDefinition};
use crate::definition::{PlaceDefinition, TransitionDefinition};
use crate::error::{known, NetError, Result};
use crate::expression::{
    compile as compile_expression, constant_of, convert, parse, Scope, Value, Variable,
};
use crate::guard::{divide, Guard};

/// Limits that keep indices small and messages early.
const ARCS_MAX: usize = 1_000;
const FIELDS_MAX: usize = 64;

/// Checks a net and compiles it; the first thing wrong is named in one line.
pub fn compile(definition: NetDefinition) -> Result<Net> {
    check_names(&definition)?;
    let mut places = Vec::with_capacity(definition.places.len());
    for place in &definition.places {
        places.push(compile_place(place, &definition)?);
    }
    let disciplines = disciplines_of(&definition, &places)?;
    let levels: BTreeMap<i64, u32> = {
        let distinct: HashSet<i64> = definition.transitions.iter().map(|t| t.priority).collect();
        let mut sorted: Vec<i64> = distinct.into_iter().collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted.into_iter().zip(0..).collect()
    };
    let mut builder = Builder {
        definition: &definition,
        disciplines,
        places,
        views: Vec::new(),
    };
    let mut transitions = Vec::with_capacity(definition.transitions.len());
    for (index, transition) in definition.transitions.iter().enumerate() {
        let level = levels[&transition.priority];
        transitions.push(builder.transition(index, transition, level)?);
    }
    let Builder { places, views, .. } = builder;
    set_rivals(&mut transitions);
    let stride = places
        .iter()
        .map(|place| place.fields.len())
        .max()
        .unwrap_or(0)
        .max(1);
    let name = definition.name.clone();
    Ok(Net {
        name,
        places,
        transitions,
        views,
        stride,
        definition,
    })
}

fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    let starts = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let keyword = matches!(word, "true" | "false");
    starts && !keyword && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn check_names(definition: &NetDefinition) -> Result<()> {
    for (name, number) in &definition.constants {
        if !is_name(name) || number.as_f64().is_none_or(|value| !value.is_finite()) {
            let reason = "a constant has a name of letters, digits and _, and a 64-bit number";
            return Err(NetError::input(format!("constant {name}"), reason));
        }
    }
    for (name, fields) in &definition.colours {
        let context = format!("colour {name}");
        let mut seen = HashSet::new();
        for (field, _) in fields {
            if !is_name(field) {
                let reason = format!("'{field}' is no field name (letters, digits and _)");
                return Err(NetError::input(context, reason));
            }
            if !seen.insert(field) {
                return Err(NetError::input(
                    context,
                    format!("field '{field}' is given twice"),
                ));
            }
        }
        if fields.len() > FIELDS_MAX {
            return Err(NetError::input(
                context,
                format!("has more than {FIELDS_MAX} fields"),
            ));
        }
    }
    let unique = |kind: &str, names: Vec<&String>| {
        let mut seen = HashSet::new();
        match names
            .into_iter()
            .find(|&name| name.is_empty() || !seen.insert(name))
        {
            Some(name) if name.is_empty() => Err(NetError::input(kind, "a name must not be empty")),
            Some(name) => Err(NetError::input(
                format!("{kind} {name}"),
                "is defined twice",
            )),
            None => Ok(()),
        }
    };
    unique(
        "place",
        definition.places.iter().map(|place| &place.name).collect(),
    )?;
    unique(
        "transition",
        definition.transitions.iter().map(|t| &t.name).collect(),
    )
}

fn compile_place(place: &PlaceDefinition, definition: &NetDefinition) -> Result<Place> {
    let context = format!("place {}", place.name);
    let Some(fields) = definition.colours.get(&place.colour) else {
        let names = known(definition.colours.keys().map(String::as_str));
        let reason = format!("unknown colour '{}' ({names})", place.colour);
        return Err(NetError::input(context, reason));
    };
    let mut initial = Vec::with_capacity(place.initial.len());
    for (index, row) in place.initial.iter().enumerate() {
        let words = row_words(row, fields, &place.colour).map_err(|reason| {
            NetError::input(format!("{context}, initial token {}", index + 1), reason)
        })?;
        initial.push(words);
    }
    Ok(Place {
        name: place.name.clone(),
        fields: fields.clone(),
        initial,
        views: Vec::new(),
        dispatch: None,
        inhibits: Vec::new(),
    })
}

fn row_words(
    row: &[Json],
    fields: &[(String, FieldType)],
    colour: &str,
) -> std::result::Result<Vec<u64>, String> {
    if row.len() != fields.len() {
        let (found, wanted) = (row.len(), fields.len());
        return Err(format!(
            "has {found} values, but colour {colour} has {wanted} fields"
        ));
    }
    let words = row.iter().zip(fields).map(|(value, (field, kind))| {
        let word = match (kind, value) {
            (FieldType::Bool, Json::Bool(truth)) => Some(u64::from(*truth)),
            (FieldType::Int, Json::Number(number)) => number.as_i64().map(|whole| whole as u64),
            (FieldType::Real, Json::Number(number)) => number.as_f64().map(f64::to_bits),
            _ => None,
        };
        word.ok_or_else(|| format!("field {field} is {kind}, but the value is {value}"))
    });
    words.collect()
}

fn disciplines_of(definition: &NetDefinition, places: &[Place]) -> Result<Vec<Discipline>> {
    let one = |(place, compiled): (&PlaceDefinition, &Place)| {
        let context = format!("place {}", place.name);
        match place.discipline.as_str() {
            "fifo" => Ok(Discipline::Fifo),
            "lifo" => Ok(Discipline::Lifo),
            "random" => Ok(Discipline::Random),
            other => {
                let Some(name) = other.strip_prefix("min:") else {
                    let reason = format!(
                        "unknown discipline '{other}' (known: fifo, lifo, random, min:<field>)"
                    );
                    return Err(NetError::input(context, reason));
                };
                let found = compiled.fields.iter().position(|field| field.0 == name);
                let index = found.ok_or_else(|| {
                    let names = known(compiled.fields.iter().map(|field| field.0.as_str()));
                    let reason = format!("discipline '{other}' names no field ({names})");
                    NetError::input(context, reason)
                })?;
                Ok(Discipline::Least {
                    field: index as u16,
                    kind: compiled.fields[index].1,
                })
            }
        }
    };
    definition.places.iter().zip(places).map(one).collect()
}

/// Each transition with a weight meets those that can take the same token.
fn set_rivals(transitions: &mut [Transition]) {
    let shares = |a: &Transition, b: &Transition| {
        a.inputs
            .iter()
            .any(|input| b.inputs.iter().any(|other| other.place == input.place))
    };
    for index in 0..transitions.len() {
        let this = &transitions[index];
        let rival = |&other: &usize| {
            let that = &transitions[other];
            other != index
                && that.weight.is_some()
                && that.level == this.level
                && shares(this, that)
        };
        let rivals = match this.weight {
            Some(_) => (0..transitions.len())
                .filter(rival)
                .map(|other| other as u32)
                .collect(),
            None => Vec::new(),
        };
        transitions[index].rivals = rivals;
    }
}

struct Builder<'a> {
    definition: &'a NetDefinition,
    disciplines: Vec<Discipline>,
    places: Vec<Place>,
    views: Vec<View>,
}

impl Builder<'_> {
    fn place(&self, name: &str, context: &str) -> Result<usize> {
        self.places
            .iter()
            .position(|place| place.name == name)
            .ok_or_else(|| {
                let names = known(self.places.iter().map(|place| place.name.as_str()));
                NetError::input(context, format!("unknown place '{name}' ({names})"))
            })
    }

    fn transition(
        &mut self,
        index: usize,
        definition: &TransitionDefinition,
        level: u32,
    ) -> Result<Transition> {
        let context = transition_context(&definition.page, &definition.name);
        if definition
            .weight
            .is_some_and(|weight| !(weight.is_finite() && weight > 0.0))
        {
            return Err(NetError::input(
                context,
                "a weight is a finite number above 0",
            ));
        }
        if definition.inputs.is_empty() {
            let reason = "has no input arc, so it could fire for ever at one instant";
            return Err(NetError::input(context, reason));
        }
        if definition.inputs.len() + definition.outputs.len() > ARCS_MAX {
            return Err(NetError::input(
                context,
                format!("has more than {ARCS_MAX} arcs"),
            ));
        }
        let places = self.input_places(definition, &context)?;
        let variables = self.variables(&definition.inputs, &places, &context)?;
        let constants = &self.definition.constants;
        let mut scope = Scope {
            variables: &variables,
            constants,
            draws_allowed: false,
        };
        let guard = match &definition.guard {
            Some(text) => divide(text, scope)
                .map_err(|reason| NetError::input(format!("{context}, guard"), reason))?,
            None => Guard::default(),
        };
        scope.draws_allowed = true;
        let mut outputs = Vec::with_capacity(definition.outputs.len());
        for (arc, output) in definition.outputs.iter().enumerate() {
            let where_ = output_context(&definition.page, &definition.name, arc, &output.place);
            outputs.push(self.output(output, scope, &where_)?);
        }
        let delay = match &definition.delay {
            Some(json) => Some(delay_of(json, scope, &format!("{context}, delay"))?),
            None => None,
        };
        let mut inhibit = Vec::new();
        for arc in &definition.inhibit {
            let place = self.place(&arc.place, &format!("{context}, inhibitor arc"))?;
            if arc.at_least == 0 {
                let reason = "at_least is 0, which would block for ever; the least is 1";
                return Err(NetError::input(format!("{context}, inhibitor arc"), reason));
            }
            inhibit.push((place as u32, arc.at_least));
        }
        let mut transition = Transition {
            name: definition.name.clone(),
            page: definition.page.clone(),
            level,
            weight: definition.weight,
            rivals: Vec::new(),
            inputs: Vec::new(),
            joined: Vec::new(),
            lead: 0,
            free: Vec::new(),
            residual: Vec::new(),
            searches: false,
            has_random: false,
            inhibit,
            delay,
            outputs,
        };
        self.bind(index, &mut transition, definition, &places, guard, &context)?;
        Ok(transition)
    }

    fn input_places(&self, definition: &TransitionDefinition, context: &str) -> Result<Vec<usize>> {
        let one = |(arc, input): (usize, &InputDefinition)| {
            self.place(&input.place, &format!("{context}, input arc {}", arc + 1))
        };
        definition.inputs.iter().enumerate().map(one).collect()
    }

    fn variables<'b>(
        &self,
        inputs: &'b [InputDefinition],
        places: &[usize],
        context: &str,
    ) -> Result<Vec<Variable<'b>>>
    where
        Self: 'b,
    {
        let mut variables: Vec<Variable<'_>> = Vec::with_capacity(inputs.len());
        for (arc, (input, &place)) in inputs.iter().zip(places).enumerate() {
            let Some(name) = &input.var else { continue };
            let context = format!("{context}, input arc {} from {}", arc + 1, input.place);
            if !is_name(name) {
                let reason = format!("'{name}' is no variable name (letters, digits and _)");
                return Err(NetError::input(context, reason));
            }
            if variables.iter().any(|variable| variable.name == name) {
                return Err(NetError::input(
                    context,
                    format!("variable '{name}' is bound twice"),
                ));
            }
            if self.definition.constants.contains_key(name) {
                let reason = format!("variable '{name}' is also a constant of the net");
                return Err(NetError::input(context, reason));
            }
            let colour = &self.definition.places[place].colour;
            let fields = &self.definition.colours[colour];
            variables.push(Variable {
                name,
                arc: arc as u16,
                colour,
                fields,
            });
        }
        Ok(variables)
    }

    fn output(&self, arc: &OutputDefinition, scope: Scope<'_>, context: &str) -> Result<Output> {
        let place = self.place(&arc.place, context)?;
        let colour = &self.definition.places[place].colour;
        let wanted = &self.places[place].fields;
        let fields = token_values(arc.token.as_ref(), colour, wanted, scope, context)?;
        let delay = match &arc.delay {
            Some(json) => Some(delay_of(json, scope, &format!("{context}, delay"))?),
            None => None,
        };
        Ok(Output {
            place: place as u32,
            fields,
            delay,
        })
    }

    /// Decides how the transition finds its bindings and makes the views for it.
    fn bind(
        &mut self,
        index: usize,
        transition: &mut Transition,
        definition: &TransitionDefinition,
        places: &[usize],
        mut guard: Guard,
        context: &str,
    ) -> Result<()> {
        let repeats = (1..places.len()).any(|arc| places[..arc].contains(&places[arc]));
        transition.searches = repeats || !guard.residual.is_empty();
        let leads_with_join = guard.joined.first().is_some_and(|entry| entry.0 == 0);
        if transition.searches && !leads_with_join && !guard.joined.is_empty() {
            // Arc order decides between bindings; with the join behind a free arc it cannot be
            // followed group by group, so the join's conditions are tried like the others.
            self.unjoin(&mut guard, definition, places, context)?;
        }
        let random = |arc: u16| self.disciplines[places[arc as usize]] == Discipline::Random;
        transition.has_random = (0..places.len() as u16).any(random);
        let lead = guard.joined.iter().position(|entry| !random(entry.0));
        if transition.has_random
            && (transition.searches || lead.is_none() != guard.joined.is_empty())
        {
            let reason = "takes from a place of random discipline, so its guard may compare \
                 different tokens only by == of int or bool fields with a place that is not random";
            return Err(NetError::input(context, reason));
        }
        transition.lead = lead.unwrap_or(0) as u32;
        transition.joined = guard.joined.iter().map(|entry| entry.0).collect();
        for (arc, &place) in places.iter().enumerate() {
            let view = self.view(index, arc as u16, place, &guard);
            if self.views[view as usize].joined.is_none() {
                transition.free.push(arc as u16);
            }
            let variable = definition.inputs[arc].var.clone().unwrap_or_default();
            transition.inputs.push(Input {
                place: place as u32,
                view,
                variable,
            });
        }
        transition.residual = guard.residual;
        for &(place, at_least) in &transition.inhibit {
            self.places[place as usize]
                .inhibits
                .push((index as u32, at_least));
        }
        Ok(())
    }

    /// Turns the join of a guard into conditions to be tried.
    fn unjoin(
        &self,
        guard: &mut Guard,
        definition: &TransitionDefinition,
        places: &[usize],
        context: &str,
    ) -> Result<()> {
        let variables = self.variables(&definition.inputs, places, context)?;
        let constants = &self.definition.constants;
        let scope = Scope {
            variables: &variables,
            constants,
            draws_allowed: false,
        };
        let text = definition.guard.as_deref().unwrap_or("true");
        let again = crate::guard::divide_without_join(text, scope);
        *guard = again.map_err(|reason| NetError::input(format!("{context}, guard"), reason))?;
        Ok(())
    }

    fn view(&mut self, transition: usize, arc: u16, place: usize, guard: &Guard) -> u32 {
        let index = self.views.len() as u32;
        let joined = guard.joined.iter().position(|entry| entry.0 == arc);
        let keys = joined
            .map(|at| guard.joined[at].1.clone())
            .unwrap_or_default();
        let mut wanted = guard.constants.iter().filter(|entry| entry.0 == arc);
        let target = &mut self.places[place];
        let field = target.dispatch.as_ref().map(|dispatch| dispatch.field);
        let served = wanted
            .clone()
            .find(|entry| field.is_none_or(|field| field == entry.1));
        match served {
            Some(&(_, field, word)) => {
                let fresh = || Dispatch {
                    field,
                    views: HashMap::new(),
                };
                let dispatch = target.dispatch.get_or_insert_with(fresh);
                dispatch.views.entry(word).or_default().push(index);
            }
            None => target.views.push(index),
        }
        let rest = wanted.by_ref().filter(|&entry| Some(entry) != served);
        let filter = crate::guard::filter_of(guard, arc, rest);
        self.views.push(View {
            transition: transition as u32,
            discipline: self.disciplines[place],
            filter,
            joined: joined.map(|at| at as u32),
            keys,
        });
        index
    }
}

/// The values of a token: one expression a field, or a whole bound token.
fn token_values(
    token: Option<&Json>,
    colour: &str,
    wanted: &[(String, FieldType)],
    scope: Scope<'_>,
    context: &str,
) -> Result<Vec<Value>> {
    let wrong = |reason: String| NetError::input(context, reason);
    let list = match token {
        None if wanted.is_empty() => return Ok(Vec::new()),
        None => {
            return Err(wrong(format!(
                "token is missing: colour {colour} has fields"
            )));
        }
        Some(Json::String(name)) => {
            let Some(variable) = scope.variables.iter().find(|entry| entry.name == name) else {
                let names = known(scope.variables.iter().map(|entry| entry.name));
                return Err(wrong(format!(
                    "token '{name}' is no bound variable ({names})"
                )));
            };
            let kinds = |fields: &[(String, FieldType)]| {
                fields.iter().map(|field| field.1).collect::<Vec<_>>()
            };
            if kinds(variable.fields) != kinds(wanted) {
                let found = variable.colour;
                let reason = format!("token '{name}' has colour {found}, expected {colour}");
                return Err(wrong(reason));
            }
            let arc = variable.arc;
            let field = |index| Value::Field {
                arc,
                field: index as u16,
            };
            return Ok((0..wanted.len()).map(field).collect());
        }
        Some(Json::Array(list)) => list,
        Some(other) => {
            let reason = format!("token is {other}, expected a list of expressions or a variable");
            return Err(wrong(reason));
        }
    };
    if list.len() != wanted.len() {
        let (found, fields) = (list.len(), wanted.len());
        let reason = format!("token has {found} values, but colour {colour} has {fields} fields");
        return Err(wrong(reason));
    }
    let one = |(json, (field, kind)): (&Json, &(String, FieldType))| {
        let context = format!("{context}, field {field}");
        inscription(json, *kind, scope).map_err(|reason| NetError::input(context, reason))
    };
    list.iter().zip(wanted).map(one).collect()
}

/// An inscription of a wanted type: text, a number or a truth value.
fn inscription(
    json: &Json,
    wanted: FieldType,
    scope: Scope<'_>,
) -> std::result::Result<Value, String> {
    let typed = match json {
        Json::String(text) => compile_expression(&parse(text)?, scope)?,
        Json::Number(number) => literal(constant_of(number)),
        Json::Bool(truth) => literal((u64::from(*truth), FieldType::Bool)),
        other => return Err(format!("found {other}, expected an expression or a number")),
    };
    Ok(convert(typed, wanted)?.value())
}

fn literal((word, kind): (u64, FieldType)) -> crate::expression::Typed {
    let code = vec![crate::expression::Instruction::Push(word)];
    crate::expression::Typed { code, kind }
}

fn delay_of(json: &Json, scope: Scope<'_>, context: &str) -> Result<Value> {
    let value = inscription(json, FieldType::Real, scope);
    let value = value.map_err(|reason| NetError::input(context, reason))?;
    if let Value::Constant(word) = value {
        let seconds = f64::from_bits(word);
        if crate::clock::nanoseconds(seconds).is_none() {
            let reason = format!("the delay is {seconds} s; it must be between 0 and 9e9");
            return Err(NetError::input(context, reason));
        }
    }
    Ok(value)
}
