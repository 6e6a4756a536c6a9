//! Compiles a net definition: replaces every name by an index, and checks the type of every
//! inscription (the expressions of arcs, guards and delays).

mod clusters;
mod forward;
mod guard;
mod inscription;
mod lines;
mod name;
mod transition;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::take;

use serde_json::Value as Json;

use crate::cluster_run::ClusterPlan;
use crate::compiled::{CompiledNet, Discipline, Place, Transition};
use crate::definition::{Element, FieldType, NetDefinition, PlaceDefinition, TableDefinition};
use crate::error::{known, NetError, Result};
use crate::expression::{
    compile as compile_expression, convert, is_function, parse, Code, Library, Scope, Table,
};
use crate::lists::{Lists, EMPTY};
use crate::name_index::NameIndex;
use name::is_name;
use transition::Builder;

/// Largest number of fields of a colour. The limit bounds the memory that each token needs.
const FIELDS_MAX: usize = 64;

/// Largest number of parameters of a function. It is limited because the arguments of a call and
/// the intermediate results share the stack.
const PARAMETERS_MAX: usize = 16;

/// Checks a net and compiles it. The error describes the first problem in one line.
pub fn compile(mut definition: NetDefinition) -> Result<CompiledNet> {
    let (place_numbers, transition_numbers) = check_names(&definition)?;
    let mut places = Vec::with_capacity(definition.places.len());
    let mut lists = Lists::default();
    for place in &definition.places {
        places.push(compile_place(place, &definition, &mut lists)?);
    }
    let disciplines = disciplines_of(&definition, &places)?;
    let levels: BTreeMap<i64, u32> = {
        let distinct: HashSet<i64> = definition.transitions.iter().map(|t| t.priority).collect();
        let mut sorted: Vec<i64> = distinct.into_iter().collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted.into_iter().zip(0..).collect()
    };
    let lists = RefCell::new(lists);
    let functions = functions_of(&definition, &lists)?;
    // The definition of an output arc is dropped as soon as the arc is compiled. Its memory can
    // then be used for the next transitions.
    let written = definition.transitions.iter_mut();
    let written: Vec<_> = written.map(|one| take(&mut one.outputs)).collect();
    let arcs = definition.transitions.iter().map(|one| one.inputs.len());
    let mut builder = Builder {
        lists: &lists,
        definition: &definition,
        disciplines,
        place_numbers: &place_numbers,
        places,
        views: Vec::with_capacity(arcs.sum()),
    };
    let mut transitions = Vec::with_capacity(definition.transitions.len());
    for (index, outputs) in written.into_iter().enumerate() {
        let transition = &definition.transitions[index];
        let level = levels[&transition.priority];
        transitions.push(builder.transition((index, level), transition, &outputs)?);
    }
    let Builder {
        mut places, views, ..
    } = builder;
    let library = Library {
        tables: tables_of(&definition)?,
        functions,
    };
    set_rivals(&mut transitions);
    let lines = lines::assign(&mut transitions);
    let clusters = clusters::recognise(&mut places, &mut transitions, &views);
    let widths = places.iter().map(|place| place.fields.len());
    let stride = widths.max().unwrap_or(0).max(1);
    let name = definition.name.clone();
    move_names(&mut definition, &mut places, &mut transitions);
    let mut net = CompiledNet {
        name,
        places,
        place_numbers,
        transition_numbers,
        transitions,
        views,
        clusters,
        cluster_plan: None,
        lines,
        library,
        lists: lists.into_inner(),
        has_lists: has_lists(&definition),
        stride,
        definition,
    };
    net.cluster_plan = ClusterPlan::new(&net);
    Ok(net)
}

/// Moves the names of places and transitions, and the pages of transitions, from the definition to
/// the compiled net. A copy would take much memory in a net of many places. Also drops the initial
/// tokens of the definition, because the places have them as 64-bit words. The JSON form of a
/// million tokens needs more memory than the run.
fn move_names(
    definition: &mut NetDefinition,
    places: &mut [Place],
    transitions: &mut [Transition],
) {
    for (place, written) in places.iter_mut().zip(&mut definition.places) {
        place.name = take(&mut written.name);
        written.initial = Vec::new();
    }
    for (transition, written) in transitions.iter_mut().zip(&mut definition.transitions) {
        transition.name = take(&mut written.name);
        transition.page = take(&mut written.page);
    }
}

/// Whether any value of the net is a list. If so, a run has to free list cells that are no longer
/// used.
fn has_lists(definition: &NetDefinition) -> bool {
    let colours = definition.colours.values().flatten().map(|field| field.1);
    let parameters = definition.functions.iter().flat_map(|one| &one.parameters);
    let results = definition.functions.iter().map(|one| one.result);
    let locals = definition.transitions.iter().flat_map(|one| &one.locals);
    let mut kinds = colours
        .chain(parameters.map(|one| one.1))
        .chain(results)
        .chain(locals.map(|one| one.resolved));
    kinds.any(FieldType::has_cells)
}

/// Compiles the functions of the net. Each function may call every function of the net.
fn functions_of(definition: &NetDefinition, lists: &RefCell<Lists>) -> Result<Vec<Code>> {
    let mut made = Vec::with_capacity(definition.functions.len());
    for function in &definition.functions {
        let name = &function.name;
        let wrong = |reason: String| NetError::input(format!("function {name}"), reason);
        let taken = is_function(name) || definition.listed(name).is_some();
        if !is_name(name) || taken {
            let reason =
                "the name is of letters, digits and _, and no other function's or colour's";
            return Err(wrong(reason.to_owned()));
        }
        let labels = function.parameters.iter().map(|one| one.0.as_str());
        let mut known = HashSet::new();
        if let Some(bad) = labels
            .into_iter()
            .find(|one| !is_name(one) || !known.insert(*one))
        {
            return Err(wrong(format!("'{bad}' is no name, or is given twice")));
        }
        if function.parameters.len() > PARAMETERS_MAX {
            return Err(wrong(format!("has more than {PARAMETERS_MAX} parameters")));
        }
        let scope = Scope {
            variables: &[],
            net: definition,
            draws_allowed: true,
            clock_allowed: false,
            parameters: &function.parameters,
            texts: Some(lists),
        };
        let tree = parse(&function.body).map_err(wrong)?;
        let typed = compile_expression(&tree, scope).map_err(wrong)?;
        let typed = convert(typed, function.result).map_err(wrong)?;
        made.push(typed.code.into_boxed_slice());
    }
    Ok(made)
}

/// Checks all names of a net. Returns the indexes by which the places and the transitions of the
/// net are found by their names.
fn check_names(definition: &NetDefinition) -> Result<(NameIndex, NameIndex)> {
    for (name, number) in &definition.constants {
        if !is_name(name) || number.as_f64().is_none_or(|value| !value.is_finite()) {
            let reason = "a constant has a name of letters, digits and _, and a 64-bit number";
            return Err(NetError::input(format!("constant {name}"), reason));
        }
    }
    for (name, fields) in &definition.colours {
        let context = format!("colour {name}");
        let mut known = HashSet::new();
        for (field, _) in fields {
            if !is_name(field) {
                let reason = format!("'{field}' is no field name (letters, digits and _)");
                return Err(NetError::input(context, reason));
            }
            if !known.insert(field) {
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
    check_enums(definition)?;
    let (places, transitions) = (&definition.places, &definition.transitions);
    Ok((
        unique("place", places.len(), |at| &places[at].name)?,
        unique("transition", transitions.len(), |at| &transitions[at].name)?,
    ))
}

/// Indexes the names of all elements of one kind, such as places. The error describes the first
/// name that is empty or already in use.
fn unique<'n>(kind: &str, count: usize, name_at: impl Fn(usize) -> &'n str) -> Result<NameIndex> {
    let index = NameIndex::new(count, &name_at);
    let repeated = index.as_ref().err().copied().unwrap_or(count);
    if (0..repeated).any(|at| name_at(at).is_empty()) {
        return Err(NetError::input(kind, "a name must not be empty"));
    }
    index.map_err(|at| NetError::input(format!("{kind} {}", name_at(at)), "is defined twice"))
}

fn check_enums(definition: &NetDefinition) -> Result<()> {
    for (name, values) in &definition.enums {
        let wrong = |reason: String| Err(NetError::input(format!("enumeration {name}"), reason));
        if !is_name(name) || matches!(name.as_str(), "int" | "real" | "bool" | "text") {
            return wrong("the name must be of letters, digits and _, and no other type's".into());
        }
        if values.is_empty() {
            return wrong("has no values".to_owned());
        }
        let mut known = HashSet::new();
        for value in values {
            if !is_name(value) || !known.insert(value) {
                return wrong(format!("'{value}' is no name, or is given twice"));
            }
            if definition.constants.contains_key(value) {
                return wrong(format!("value '{value}' is also a constant of the net"));
            }
        }
    }
    Ok(())
}

fn tables_of(definition: &NetDefinition) -> Result<Vec<Table>> {
    let one = |(name, table): (&String, &TableDefinition)| {
        Table::new(table).map_err(|reason| NetError::input(format!("table {name}"), reason))
    };
    definition.tables.iter().map(one).collect()
}

fn compile_place(
    place: &PlaceDefinition,
    definition: &NetDefinition,
    lists: &mut Lists,
) -> Result<Place> {
    let context = format!("place {}", place.name);
    let Some(fields) = definition.colours.get(&place.colour) else {
        let names = known(definition.colours.keys().map(String::as_str));
        let reason = format!("unknown colour '{}' ({names})", place.colour);
        return Err(NetError::input(context, reason));
    };
    let mut initial = Vec::with_capacity(place.initial.len());
    for (index, row) in place.initial.iter().enumerate() {
        let words = row_words(row, fields, place, definition, lists).map_err(|reason| {
            NetError::input(format!("{context}, initial token {}", index + 1), reason)
        })?;
        initial.push(words);
    }
    Ok(Place {
        name: String::new(),
        fields: fields.clone(),
        initial,
        views: Vec::new(),
        dispatch: None,
        inhibits: Vec::new(),
        resets: false,
        seat: None,
    })
}

fn row_words(
    row: &[Json],
    fields: &[(String, FieldType)],
    place: &PlaceDefinition,
    definition: &NetDefinition,
    lists: &mut Lists,
) -> std::result::Result<Vec<u64>, String> {
    let colour = &place.colour;
    if row.len() != fields.len() {
        let (found, wanted) = (row.len(), fields.len());
        return Err(format!(
            "has {found} values, but colour {colour} has {wanted} fields"
        ));
    }
    let words = row.iter().zip(fields).map(|(value, (field, kind))| {
        word(value, *kind, definition, lists).map_err(|wanted| match wanted {
            Wanted::Type(kind) => format!("field {field} is {kind}, but the value is {value}"),
            Wanted::Enum(at) => {
                let (name, values) = &definition.enums[at as usize];
                let names = known(values.iter().map(String::as_str));
                format!("field {field} is of {name}, but the value is {value} ({names})")
            }
        })
    });
    words.collect()
}

/// The type that was expected where a JSON value of another type was found.
enum Wanted {
    Type(FieldType),
    Enum(u16),
}

/// The 64-bit word that represents a field of an initial token. The error says which value was
/// expected.
fn word(
    value: &Json,
    kind: FieldType,
    definition: &NetDefinition,
    lists: &mut Lists,
) -> std::result::Result<u64, Wanted> {
    let found = match (kind, value) {
        (FieldType::Bool, Json::Bool(truth)) => Some(u64::from(*truth)),
        (FieldType::Int, Json::Number(number)) => number.as_i64().map(|whole| whole as u64),
        (FieldType::Real, Json::Number(number)) => number.as_f64().map(f64::to_bits),
        (FieldType::Text, Json::String(text)) => lists.text(text).ok(),
        (FieldType::Enum(at), value) => {
            let mut values = definition.enums[at as usize].1.iter();
            let found = values.position(|one| value.as_str() == Some(one));
            return found.map(|word| word as u64).ok_or(Wanted::Enum(at));
        }
        (FieldType::List(element), Json::Array(values)) => {
            let mut list = EMPTY;
            for value in values.iter().rev() {
                let one = Element::field_type(element).ok_or(Wanted::Type(kind))?;
                let head = element_word(value, one, definition, lists)?;
                list = lists.prepend(head, list).map_err(|_| Wanted::Type(kind))?;
            }
            Some(list)
        }
        (FieldType::Record(colour), Json::Array(values)) => {
            let fields = definition.fields_of(colour);
            if values.len() != fields.len() {
                return Err(Wanted::Type(kind));
            }
            let mut words = Vec::with_capacity(fields.len());
            for (value, (_, one)) in values.iter().zip(fields) {
                words.push(element_word(value, *one, definition, lists)?);
            }
            Some(lists.record(&words).map_err(|_| Wanted::Type(kind))?)
        }
        _ => None,
    };
    found.ok_or(Wanted::Type(kind))
}

/// The 64-bit word that represents an element of a list. Minus zero is stored as zero, so that
/// equal lists have equal words.
fn element_word(
    value: &Json,
    kind: FieldType,
    definition: &NetDefinition,
    lists: &mut Lists,
) -> std::result::Result<u64, Wanted> {
    let found = word(value, kind, definition, lists)?;
    Ok(match kind {
        FieldType::Real => (f64::from_bits(found) + 0.0).to_bits(),
        _ => found,
    })
}

fn disciplines_of(definition: &NetDefinition, places: &[Place]) -> Result<Vec<Discipline>> {
    let one = |(place, compiled): (&PlaceDefinition, &Place)| {
        let context = format!("place {}", place.name);
        match &*place.discipline {
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
                let Some(index) = found else {
                    let names = known(compiled.fields.iter().map(|field| field.0.as_str()));
                    let reason = format!("discipline '{other}' names no field ({names})");
                    return Err(NetError::input(context, reason));
                };
                let kind = compiled.fields[index].1;
                if kind.has_cells() {
                    let reason = format!("discipline '{other}' names {kind}, which has no order");
                    return Err(NetError::input(context, reason));
                }
                Ok(Discipline::Least {
                    field: index as u16,
                    kind,
                })
            }
        }
    };
    definition.places.iter().zip(places).map(one).collect()
}

/// Fills in the rivals of each transition that has a weight. A rival is another transition with a
/// weight and the same priority that can take tokens from the same place.
fn set_rivals(transitions: &mut [Transition]) {
    let mut takers: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for (index, this) in (0u32..).zip(transitions.iter()) {
        for input in this.inputs.iter().filter(|_| this.weight.is_some()) {
            let takers = takers.entry((input.place, this.level)).or_default();
            takers.push(index);
        }
    }
    for (index, this) in (0u32..).zip(transitions.iter_mut()) {
        if this.weight.is_none() {
            continue;
        }
        let places = this.inputs.iter().map(|input| (input.place, this.level));
        let mut rivals: Vec<u32> = places.flat_map(|at| &takers[&at]).copied().collect();
        rivals.sort_unstable();
        rivals.dedup();
        rivals.retain(|&other| other != index);
        this.rivals = rivals.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::Input;

    /// Finds the rivals of a transition by comparing it with every other transition. A test
    /// compares the result of `set_rivals` with this result.
    fn plain_rivals(transitions: &[Transition], index: usize) -> Vec<u32> {
        let this = &transitions[index];
        let shares = |that: &Transition| {
            let mut inputs = this.inputs.iter();
            inputs.any(|input| that.inputs.iter().any(|other| other.place == input.place))
        };
        let meets = |that: &Transition| {
            let weighted = this.weight.is_some() && that.weight.is_some();
            weighted && that.level == this.level && shares(that)
        };
        let all = (0u32..).zip(transitions);
        let others = all.filter(|(other, _)| *other as usize != index);
        others
            .filter(|(_, that)| meets(that))
            .map(|(other, _)| other)
            .collect()
    }

    #[test]
    fn rivals_are_those_that_a_look_at_every_two_finds() {
        let (mut draws, mut met) = (crate::stream::Stream::new(7, 0, 0), 0);
        for _ in 0..200 {
            let mut transition = || {
                let mut below = |bound: usize| draws.below(bound);
                let input = |place| Input {
                    place,
                    view: 0,
                    joined: None,
                    random: false,
                    variable: String::new(),
                };
                Transition {
                    level: below(2) as u32,
                    weight: (below(4) > 0).then_some(1.0),
                    inputs: (0..1 + below(3)).map(|_| input(below(9) as u32)).collect(),
                    ..Transition::default()
                }
            };
            let mut transitions: Vec<Transition> = (0..12).map(|_| transition()).collect();
            set_rivals(&mut transitions);
            for (index, this) in transitions.iter().enumerate() {
                assert_eq!(*this.rivals, *plain_rivals(&transitions, index));
                met += this.rivals.len();
            }
        }
        assert!(met > 1000, "{met}");
    }
}
