//! Functions that a net defines. A function has parameters with types, a result type, and a body in
//! the inscription language.
//!
//! A function may call itself and other functions. The compiler does not prove that a function
//! ends. Calls are counted at run time, and too many or too deeply nested calls end the run with an
//! error.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::field_type::FieldType;
use crate::expression::{is_draw, parse, Expression};

/// A function that a net defines, with its types resolved.
#[derive(Clone, Debug)]
pub struct FunctionDefinition {
    /// The name of the function.
    pub name: String,
    /// Names and types of the parameters, in the order of the arguments.
    pub parameters: Vec<(String, FieldType)>,
    /// The type of the function's value.
    pub result: FieldType,
    /// An inscription over the parameters, whose value is the function's result.
    pub body: String,
    /// Whether a call may draw at random, directly or through other functions that it calls.
    pub draws: bool,
}

impl FunctionDefinition {
    /// The types of the function's parameters and of its result.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = FieldType> + '_ {
        let parameters = self.parameters.iter().map(|one| one.1);
        parameters.chain([self.result])
    }
}

/// A function as it is written in a net definition, with types given by name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename = "function",
    expecting = "an object that describes a function"
)]
#[schemars(rename = "FunctionDefinition")]
pub(crate) struct WrittenFunction {
    /// Names and types of the parameters, in the order of the arguments.
    parameters: Vec<(String, String)>,
    /// Name of the type of the function's value.
    result: String,
    /// An inscription over the parameters, whose value is the function's result.
    body: String,
}

/// Resolves the types of all functions, and determines which functions draw at random. `kind`
/// returns the type that has a given name.
pub(crate) fn resolved(
    written: &BTreeMap<String, WrittenFunction>,
    kind: &impl Fn(&str) -> Option<FieldType>,
) -> Result<Vec<FunctionDefinition>, String> {
    let mut made = Vec::with_capacity(written.len());
    let mut calls = Vec::with_capacity(written.len());
    for (name, function) in written {
        let typed = |word: &str| {
            kind(word).ok_or_else(|| format!("function {name}: unknown type '{word}'"))
        };
        let one = |(label, word): &(String, String)| Ok((label.clone(), typed(word)?));
        let parameters = function.parameters.iter().map(one);
        let mut names = Vec::new();
        let body = parse(&function.body).map_err(|error| format!("function {name}: {error}"))?;
        called(&body, &mut names);
        made.push(FunctionDefinition {
            name: name.clone(),
            parameters: parameters.collect::<Result<_, String>>()?,
            result: typed(&function.result)?,
            body: function.body.clone(),
            draws: names.iter().any(|name| is_draw(name)),
        });
        calls.push(names);
    }
    loop {
        let draws: Vec<String> = drawing(&made);
        for (function, names) in made.iter_mut().zip(&calls) {
            function.draws |= names.iter().any(|name| draws.contains(name));
        }
        if drawing(&made).len() == draws.len() {
            return Ok(made);
        }
    }
}

fn drawing(functions: &[FunctionDefinition]) -> Vec<String> {
    let draws = functions.iter().filter(|one| one.draws);
    draws.map(|one| one.name.clone()).collect()
}

/// Appends to `into` the names of all functions that an expression calls.
fn called(tree: &Expression, into: &mut Vec<String>) {
    match tree {
        Expression::Call(name, arguments) => {
            into.push(name.clone());
            arguments.iter().for_each(|one| called(one, into));
        }
        Expression::List(parts) => parts.iter().for_each(|one| called(one, into)),
        Expression::Unary(_, inner) | Expression::Part(inner, _) => called(inner, into),
        Expression::Binary(_, left, right) => {
            called(left, into);
            called(right, into);
        }
        Expression::Integer(_)
        | Expression::Real(_)
        | Expression::Boolean(_)
        | Expression::Text(_)
        | Expression::Name(_)
        | Expression::Field(..) => {}
    }
}
