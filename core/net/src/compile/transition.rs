//! Compiles one transition: its arcs, its guard, and the way in which the engine finds its
//! bindings.

use std::cell::RefCell;

use super::forward::forward;
use super::inscription::{count_of, delay_of, inscription, token_values};
use super::name::is_name;
use crate::compile::guard::{divide, divide_without_join, filter_of, whole, Guard};
use crate::compiled::{
    output_context, transition_context, Discipline, Dispatch, Filter, Input, KeyKind, Output,
    Place, Transition, View,
};
use crate::definition::{
    FieldType, InputDefinition, LocalDefinition, NetDefinition, OutputDefinition,
    TransitionDefinition,
};
use crate::engine::event_list::NO_LINE;
use crate::error::{known, NetError, Result};
use crate::expression::{Scope, Value, Variable};
use crate::lists::Lists;
use crate::name_index::NameIndex;

/// Largest number of arcs of a transition. With this limit 16 bits suffice for an index, and a
/// mistaken net is reported early.
const ARCS_MAX: usize = 1_000;
const LOCALS_MAX: usize = 1_000;

/// Compiles the locals of a transition, which are values that are computed once per firing. Appends
/// the names and types of the locals to `named`, so that later inscriptions can use them.
fn locals_of(
    definitions: &[LocalDefinition],
    scope: Scope<'_>,
    context: &str,
    named: &mut Vec<(String, FieldType)>,
) -> Result<Vec<Value>> {
    let mut made = Vec::with_capacity(definitions.len());
    for local in definitions {
        let name = &local.name;
        let wrong = |reason: String| NetError::input(format!("{context}, local {name}"), reason);
        if !is_name(name) || name == "turn" || named.iter().any(|one| one.0 == *name) {
            return Err(wrong(
                "is no name of letters, digits and _, or is given twice".to_owned(),
            ));
        }
        if made.len() == LOCALS_MAX {
            return Err(wrong(format!(
                "a transition has at most {LOCALS_MAX} locals"
            )));
        }
        let scope = Scope {
            parameters: named,
            ..scope
        };
        made.push(inscription(&local.value, local.resolved, scope).map_err(wrong)?);
        named.push((name.clone(), local.resolved));
    }
    Ok(made)
}

/// Checks that a transition has a valid weight, at least one input arc, and not too many arcs.
/// `outputs` is the number of its output arcs. Inscriptions are not checked here.
fn check_size(definition: &TransitionDefinition, outputs: usize, context: &str) -> Result<()> {
    let bad_weight = |weight: &f64| !(weight.is_finite() && *weight > 0.0);
    let reason = if let Some(weight) = definition.weight.filter(bad_weight) {
        format!("the weight is {weight}; it must be a finite number above 0")
    } else if definition.inputs.is_empty() {
        "has no input arc, so it could fire for ever at one instant".to_owned()
    } else if definition.inputs.len() + outputs > ARCS_MAX {
        format!("has more than {ARCS_MAX} arcs")
    } else {
        return Ok(());
    };
    Err(NetError::input(context, reason))
}

pub(super) struct Builder<'a> {
    pub(super) definition: &'a NetDefinition,
    pub(super) disciplines: Vec<Discipline>,
    pub(super) places: Vec<Place>,
    pub(super) place_numbers: &'a NameIndex,
    pub(super) views: Vec<View>,
    pub(super) lists: &'a RefCell<Lists>,
}

impl Builder<'_> {
    fn place(&self, name: &str, context: &str) -> Result<usize> {
        let places = &self.definition.places;
        let found = self.place_numbers.find(name, |at| &places[at].name);
        found.ok_or_else(|| {
            let names = known(places.iter().map(|place| place.name.as_str()));
            NetError::input(context, format!("unknown place '{name}' ({names})"))
        })
    }

    /// Compiles a transition. It is given by its number, its level (the rank of its priority), its
    /// definition, and the definitions of its output arcs.
    pub(super) fn transition(
        &mut self,
        (index, level): (usize, u32),
        definition: &TransitionDefinition,
        written: &[OutputDefinition],
    ) -> Result<Transition> {
        let context = transition_context(&definition.page, &definition.name);
        check_size(definition, written.len(), &context)?;
        let places = self.input_places(definition, &context)?;
        let variables = self.variables(&definition.inputs, &places, &context)?;
        let mut scope = Scope {
            variables: &variables,
            net: self.definition,
            draws_allowed: false,
            clock_allowed: false,
            parameters: &[],
            texts: Some(self.lists),
        };
        let in_guard = |reason| NetError::input(format!("{context}, guard"), reason);
        let (guard, whole) = match &definition.guard {
            Some(text) => (
                divide(text, scope).map_err(in_guard)?,
                Some(whole(text, scope).map_err(in_guard)?),
            ),
            None => (Guard::default(), None),
        };
        scope.draws_allowed = true;
        let mut named = Vec::with_capacity(definition.locals.len() + 1);
        let locals = locals_of(&definition.locals, scope, &context, &mut named)?;
        scope.parameters = &named;
        let mut outputs = Vec::with_capacity(written.len());
        for (arc, output) in written.iter().enumerate() {
            let where_ = output_context(&definition.page, &definition.name, arc, &output.place);
            outputs.push(self.output(output, scope, &where_)?);
        }
        let released = forward(&mut outputs, definition.inputs.len());
        let delay = match &definition.delay {
            Some(json) => Some(delay_of(json, scope, &format!("{context}, delay"))?),
            None => None,
        };
        let inhibit = self.inhibitors(definition, &context)?;
        let reset = self.resets(definition, &context)?;
        let mut transition = Transition {
            level,
            weight: definition.weight,
            inhibit: inhibit.into(),
            reset: reset.into(),
            guard: whole,
            delay,
            locals: locals.into_boxed_slice(),
            outputs,
            released: released.into(),
            ..Transition::default()
        };
        self.bind(index, &mut transition, definition, &places, guard, &context)?;
        Ok(transition)
    }

    fn inhibitors(
        &self,
        definition: &TransitionDefinition,
        context: &str,
    ) -> Result<Vec<(u32, u32)>> {
        let context = format!("{context}, inhibitor arc");
        let mut inhibit = Vec::with_capacity(definition.inhibit.len());
        for arc in &definition.inhibit {
            let place = self.place(&arc.place, &context)?;
            if arc.at_least == 0 {
                let reason = "at_least is 0, which would block for ever; the least is 1";
                return Err(NetError::input(context, reason));
            }
            inhibit.push((place as u32, arc.at_least));
        }
        Ok(inhibit)
    }

    fn resets(&mut self, definition: &TransitionDefinition, context: &str) -> Result<Vec<u32>> {
        let mut found = Vec::with_capacity(definition.reset.len());
        for arc in &definition.reset {
            let place = self.place(&arc.place, &format!("{context}, reset arc"))?;
            self.places[place].resets = true;
            found.push(place as u32);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
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
        let count = match &arc.count {
            Some(json) => Some(Box::new(count_of(
                json,
                scope,
                &format!("{context}, count"),
            )?)),
            None => None,
        };
        let turns;
        let mut scope = scope;
        if count.is_some() {
            let turn = ("turn".to_owned(), FieldType::Int);
            turns = [scope.parameters, std::slice::from_ref(&turn)].concat();
            scope.parameters = &turns;
        }
        let fields = token_values(arc.token.as_ref(), colour, wanted, scope, context)?;
        let delay = match &arc.delay {
            Some(json) => Some(delay_of(json, scope, &format!("{context}, delay"))?),
            None => None,
        };
        Ok(Output {
            place: place as u32,
            fields,
            forwards: None,
            changed: Box::default(),
            line: NO_LINE,
            count,
            delay,
        })
    }

    /// Decides how the engine finds bindings of the transition. Creates the views that this needs:
    /// a view has the tokens that meet the condition of one input arc.
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
            // If there are several bindings, the first binding in the order of the arcs fires. A
            // join looks tokens up by equal fields, and binds its arcs first. So a join cannot
            // follow the order of the arcs if another arc comes before those of the join. The
            // conditions of the join are then tested on each combination of tokens instead.
            self.unjoin(&mut guard, definition, places, context)?;
        }
        let random = |arc: u16| self.disciplines[places[arc as usize]] == Discipline::Random;
        transition.has_random = (0..places.len() as u16).any(random);
        let lead = guard.joined.iter().position(|entry| !random(entry.0));
        let joins_random = guard.joined.iter().any(|entry| random(entry.0));
        if joins_random && (transition.searches || lead.is_none()) {
            // A search draws an order of the tokens of a random place. A join would fix the order
            // of its keys. A join of random places alone has no arc that orders its keys.
            self.unjoin(&mut guard, definition, places, context)?;
            transition.searches = true;
        }
        let lead = lead.filter(|_| !guard.joined.is_empty());
        transition.lead = lead.unwrap_or(0) as u32;
        transition.joined = guard.joined.iter().map(|entry| entry.0).collect();
        transition.inputs.reserve_exact(places.len());
        for (arc, &place) in places.iter().enumerate() {
            let view = self.view((index, transition.searches), arc as u16, place, &guard);
            let variable = definition.inputs[arc].var.clone().unwrap_or_default();
            transition.inputs.push(Input {
                place: place as u32,
                view,
                joined: self.views[view as usize].joined,
                random: self.disciplines[place] == Discipline::Random,
                variable,
            });
        }
        transition.residual = guard.residual.into();
        for &(place, at_least) in &transition.inhibit {
            self.places[place as usize]
                .inhibits
                .push((index as u32, at_least));
        }
        Ok(())
    }

    /// Replaces the join of a guard (the look-up of tokens by equal fields) by conditions that are
    /// tested on each combination of tokens.
    fn unjoin(
        &self,
        guard: &mut Guard,
        definition: &TransitionDefinition,
        places: &[usize],
        context: &str,
    ) -> Result<()> {
        let variables = self.variables(&definition.inputs, places, context)?;
        let scope = Scope {
            variables: &variables,
            net: self.definition,
            draws_allowed: false,
            clock_allowed: false,
            parameters: &[],
            texts: Some(self.lists),
        };
        let text = definition.guard.as_deref().unwrap_or("true");
        let again = divide_without_join(text, scope);
        *guard = again.map_err(|reason| NetError::input(format!("{context}, guard"), reason))?;
        Ok(())
    }

    fn view(
        &mut self,
        (transition, searches): (usize, bool),
        arc: u16,
        place: usize,
        guard: &Guard,
    ) -> u32 {
        let index = self.views.len() as u32;
        let joined = guard.joined.iter().position(|entry| entry.0 == arc);
        let keys = joined
            .map(|at| guard.joined[at].1.clone().into_boxed_slice())
            .unwrap_or_default();
        let mut wanted = guard.constants.iter().filter(|entry| entry.0 == arc);
        let target = &mut self.places[place];
        let field = target.dispatch.as_ref().map(|dispatch| dispatch.field);
        let served = wanted
            .clone()
            .find(|entry| field.is_none_or(|field| field == entry.1));
        match served {
            Some(&(_, field, word)) => {
                let fresh = || {
                    Box::new(Dispatch {
                        field,
                        views: Vec::new(),
                    })
                };
                let dispatch = target.dispatch.get_or_insert_with(fresh);
                dispatch.add(word, index);
            }
            None => target.views.push(index),
        }
        let rest = wanted.by_ref().filter(|&entry| Some(entry) != served);
        let filter = Filter::new(filter_of(guard, arc, rest));
        self.views.push(View {
            transition: transition as u32,
            searches,
            discipline: self.disciplines[place],
            filter,
            joined: joined.map(|at| at as u32),
            key_kind: match (joined, &keys[..]) {
                (None, _) => KeyKind::None,
                (_, &[field]) => KeyKind::One(field),
                _ => KeyKind::Several,
            },
            keys,
        });
        index
    }
}
