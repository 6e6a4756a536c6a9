//! Compiles the expressions of monitors over the variables of a transition.

use crate::compiled::CompiledNet;
use crate::definition::FieldType;
use crate::expression::{compile, convert, parse, Scope, Value, Variable};

/// Compiles an expression over the variables of a transition. Returns its compiled form and its
/// type, which is `wanted` if that is given.
pub(crate) fn inscription(
    net: &CompiledNet,
    text: &str,
    transition: usize,
    wanted: Option<FieldType>,
) -> std::result::Result<(Value, FieldType), String> {
    observed_inscription(net, text, transition, wanted, (&[], false))
}

/// The names and types that an expression may use. They are the names and types of a transition's
/// locals, followed by the names of a value monitor's levels, whose type is int.
pub(crate) fn names_of(
    net: &CompiledNet,
    transition: usize,
    levels: &[String],
) -> std::result::Result<Vec<(String, FieldType)>, String> {
    let locals = &net.definition.transitions[transition].locals;
    let mut names: Vec<(String, FieldType)> = Vec::with_capacity(locals.len() + levels.len());
    names.extend(locals.iter().map(|one| (one.name.clone(), one.resolved)));
    for level in levels {
        if names.iter().any(|one| one.0 == *level) {
            return Err(format!("the level '{level}' has the name of another value"));
        }
        names.push((level.clone(), FieldType::Int));
    }
    Ok(names)
}

/// Compiles an expression as `inscription` does. In addition, the expression may use the names in
/// `parameters`, and it may read the simulated time if `clock_allowed` is true.
pub(crate) fn observed_inscription(
    net: &CompiledNet,
    text: &str,
    transition: usize,
    wanted: Option<FieldType>,
    (parameters, clock_allowed): (&[(String, FieldType)], bool),
) -> std::result::Result<(Value, FieldType), String> {
    let definition = &net.definition.transitions[transition];
    let mut variables = Vec::new();
    for (arc, input) in definition.inputs.iter().enumerate() {
        let place = net.transitions[transition].inputs[arc].place as usize;
        let colour = &net.definition.places[place].colour;
        let fields = &net.places[place].fields;
        if let Some(name) = &input.var {
            variables.push(Variable {
                name,
                arc: arc as u16,
                colour,
                fields,
            });
        }
    }
    let scope = Scope {
        variables: &variables,
        net: &net.definition,
        draws_allowed: false,
        clock_allowed,
        parameters,
        texts: None,
    };
    let typed = compile(&parse(text)?, scope)?;
    let kind = wanted.unwrap_or(typed.kind);
    Ok((convert(typed, kind)?.value(), kind))
}
