//! Enumerates all bindings that may fire in a marking, for the state space and the token game.
//!
//! This code is simple on purpose: it tries each combination of tokens, whereas the engine finds
//! only the binding that fires next. Tokens with equal field values count as one choice.

mod components;
mod game;
mod space;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Deref;

use crate::answer::{Binding as Enabled, TokenRow, TokenRows};
use crate::compiled::CompiledNet;
use crate::engine::outputs::{bad_count, TURNS_MAX};
use crate::error::{NetError, Result};
use crate::expression::{evaluate, Binding, Fault, Value};
use crate::lists::Lists;
use crate::monitor::word_json;
use crate::stream::Stream;

pub use game::Game;
pub use space::state_space;

type Row = Vec<u64>;

/// The data that the evaluation of inscriptions needs: the net, the lists to which tokens refer by
/// number, and the simulated time.
#[derive(Clone, Copy)]
struct Ground<'a> {
    net: &'a CompiledNet,
    lists: &'a RefCell<Lists>,
    now_ns: u64,
}

impl Deref for Ground<'_> {
    type Target = CompiledNet;

    fn deref(&self) -> &CompiledNet {
        self.net
    }
}

/// The field values of the available tokens of every place. The tokens are in order of arrival in a
/// token game, and in ascending order in a state space.
type Places = Vec<Vec<Row>>;

/// A binding as its transition and one position for each input arc. The position is the index of
/// the bound token in the arc's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    transition: usize,
    positions: Vec<usize>,
}

/// Largest number of bindings that one marking may have; more are an error.
const CHOICES_MAX: usize = 100_000;

/// All bindings of the enabled transitions with the highest priority; enabled transitions of a
/// lower priority are left out.
fn choices(net: Ground<'_>, places: &Places) -> Result<Vec<Choice>> {
    let mut found: Vec<Choice> = Vec::new();
    let mut best = u32::MAX;
    for (index, transition) in net.transitions.iter().enumerate() {
        let blocked = |&(place, most): &(u32, u32)| places[place as usize].len() >= most as usize;
        if transition.level > best || transition.inhibit.iter().any(blocked) {
            continue;
        }
        let before = found.len();
        extend(net, places, index, &mut Vec::new(), &mut found)?;
        if found.len() > before && transition.level < best {
            best = transition.level;
            found.drain(..before);
        }
    }
    Ok(found)
}

/// Appends to `found` all bindings that extend the tokens in `chosen`. These tokens are bound to
/// the first input arcs.
fn extend(
    net: Ground<'_>,
    places: &Places,
    transition: usize,
    chosen: &mut Vec<usize>,
    found: &mut Vec<Choice>,
) -> Result<()> {
    let inputs = &net.transitions[transition].inputs;
    let arc = chosen.len();
    if arc == inputs.len() {
        if holds(net, places, transition, chosen)? {
            let positions = chosen.clone();
            found.push(Choice {
                transition,
                positions,
            });
        }
        return match found.len() > CHOICES_MAX {
            true => Err(NetError::run(
                net.context(transition),
                format!("has more than {CHOICES_MAX} bindings in one marking"),
            )),
            false => Ok(()),
        };
    }
    let place = inputs[arc].place;
    let rows = &places[place as usize];
    if net.places[place as usize].fields.is_empty() {
        // The tokens are all equal, so the arcs from the place take its first tokens in order.
        let at = inputs[..arc]
            .iter()
            .filter(|one| one.place == place)
            .count();
        if at < rows.len() {
            chosen.push(at);
            extend(net, places, transition, chosen, found)?;
            chosen.pop();
        }
        return Ok(());
    }
    let taken = |chosen: &[usize], at: usize| {
        let same = |other: &usize| inputs[*other].place == place && chosen[*other] == at;
        (0..arc).any(|other| same(&other))
    };
    for at in 0..rows.len() {
        let twin = (0..at).any(|other| rows[other] == rows[at] && !taken(chosen, other));
        if taken(chosen, at) || twin {
            continue;
        }
        chosen.push(at);
        extend(net, places, transition, chosen, found)?;
        chosen.pop();
    }
    Ok(())
}

/// Returns two lists for a binding. The first list has the field values of all bound tokens, in the
/// order of the input arcs. The second list has, for each input arc, the position of its token in
/// the first list.
fn bound(net: Ground<'_>, places: &Places, transition: usize, chosen: &[usize]) -> (Row, Vec<u32>) {
    let mut rows = Vec::with_capacity(chosen.len() * net.stride);
    for (input, &at) in net.transitions[transition].inputs.iter().zip(chosen) {
        rows.extend(&places[input.place as usize][at]);
        rows.resize(rows.len().next_multiple_of(net.stride), 0);
        if net.places[input.place as usize].fields.is_empty() {
            rows.resize(rows.len() + net.stride, 0);
        }
    }
    (rows, (0..chosen.len() as u32).collect())
}

fn binding<'a>(
    net: Ground<'a>,
    rows: &'a [u64],
    tokens: &'a [u32],
    parameters: &'a [u64],
) -> Binding<'a> {
    Binding {
        rows,
        stride: net.stride,
        tokens,
        library: &net.net.library,
        parameters,
        depth: 0,
        now_ns: net.now_ns,
        lists: net.lists,
    }
}

fn holds(net: Ground<'_>, places: &Places, transition: usize, chosen: &[usize]) -> Result<bool> {
    let Some(guard) = &net.transitions[transition].guard else {
        return Ok(true);
    };
    let (rows, tokens) = bound(net, places, transition, chosen);
    let answer = evaluate(
        guard,
        binding(net, &rows, &tokens, &[]),
        &mut Stream::new(0, 0, 0),
    );
    answer
        .map(|word| word != 0)
        .map_err(|fault| in_transition(&net, transition, "guard", fault))
}

fn in_transition(net: &CompiledNet, transition: usize, part: &str, fault: Fault) -> NetError {
    let context = format!("{}, {part}", net.context(transition));
    NetError::run(context, fault.to_string())
}

/// The tokens that a firing makes. Each is given as its place, its field values and its delay in
/// seconds.
type Made = Vec<(usize, Row, f64)>;

/// Fires a binding on `places`: takes its tokens, empties the places of reset arcs, and returns the
/// tokens that the firing makes.
fn take(
    net: Ground<'_>,
    places: &mut Places,
    choice: &Choice,
    stream: &mut Stream,
) -> Result<Made> {
    let transition = &net.transitions[choice.transition];
    let (rows, tokens) = bound(net, places, choice.transition, &choice.positions);
    let mut value = |value: &Value, parameters: &[u64], part: &str| {
        value
            .of(binding(net, &rows, &tokens, parameters), stream)
            .map_err(|fault| in_transition(&net, choice.transition, part, fault))
    };
    let mut locals: Vec<u64> = Vec::with_capacity(transition.locals.len() + 1);
    for local in &transition.locals {
        locals.push(value(local, &locals, "local")?);
    }
    let base_s = match &transition.delay {
        None => 0.0,
        Some(delay) => f64::from_bits(value(delay, &locals, "delay")?),
    };
    let mut made = Vec::with_capacity(transition.outputs.len());
    for output in &transition.outputs {
        let turns = match &output.count {
            None => 1,
            Some(count) => value(count, &locals, "count")?,
        };
        if turns > TURNS_MAX {
            let context = format!("{}, count", net.context(choice.transition));
            return Err(NetError::run(context, bad_count(turns)));
        }
        for turn in 0..turns {
            locals.push(turn);
            let row = output
                .fields
                .iter()
                .map(|field| value(field, &locals, "output"));
            let row = row.collect::<Result<Row>>()?;
            let delay_s = match &output.delay {
                None => base_s,
                Some(delay) => base_s + f64::from_bits(value(delay, &locals, "delay")?),
            };
            locals.pop();
            made.push((output.place as usize, row, delay_s));
        }
    }
    let mut leaving: Vec<(usize, usize)> = transition
        .inputs
        .iter()
        .zip(&choice.positions)
        .map(|(input, &at)| (input.place as usize, at))
        .collect();
    leaving.sort_unstable_by(|a, b| b.cmp(a));
    for (place, at) in leaving {
        places[place].remove(at);
    }
    for &place in &transition.reset {
        places[place as usize].clear();
    }
    Ok(made)
}

fn first_places(net: &CompiledNet) -> Places {
    net.places
        .iter()
        .map(|place| place.initial.clone())
        .collect()
}

/// Whether evaluating an inscription draws at random or reads the simulated time.
fn draws(net: &CompiledNet, value: &Value) -> bool {
    match value {
        Value::Draw { .. } => true,
        Value::Code(code) => crate::expression::draws(code, &net.definition),
        _ => false,
    }
}

fn row_of(net: Ground<'_>, place: usize, row: &[u64]) -> TokenRow {
    let cells = row.iter().zip(&net.places[place].fields);
    let lists = net.lists.borrow();
    TokenRow(
        cells
            .map(|(&word, field)| word_json(net.net, Some(&lists), word, field.1))
            .collect(),
    )
}

/// A marking: for each place with tokens, the list of their field values.
fn rows_of(net: Ground<'_>, places: &Places) -> TokenRows {
    let filled = places
        .iter()
        .enumerate()
        .filter(|entry| !entry.1.is_empty());
    let marking = filled.map(|(place, rows)| {
        let rows = rows.iter().map(|row| row_of(net, place, row)).collect();
        (net.places[place].name.clone(), rows)
    });
    TokenRows(marking.collect())
}

/// A binding: the transition, and the token that is bound to each of its variables.
fn binding_of(net: Ground<'_>, places: &Places, choice: &Choice) -> Enabled {
    let transition = &net.transitions[choice.transition];
    let mut variables = BTreeMap::new();
    for (input, &at) in transition.inputs.iter().zip(&choice.positions) {
        let place = input.place as usize;
        if !input.variable.is_empty() {
            let row = row_of(net, place, &places[place][at]);
            variables.insert(input.variable.clone(), row);
        }
    }
    Enabled {
        page: transition.page.to_string(),
        transition: transition.name.clone(),
        binding: variables,
    }
}
