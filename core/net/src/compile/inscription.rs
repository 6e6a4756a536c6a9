//! Compiles the inscriptions of arcs (token values and delays, given as text or numbers) to the
//! type that the arc requires.

use serde_json::Value as Json;

use crate::clock::{nanoseconds, seconds_text};
use crate::definition::FieldType;
use crate::engine::outputs::{bad_count, TURNS_MAX};
use crate::error::{known, NetError, Result};
use crate::expression::{
    compile, constant_of, convert, draws, parse, part, Expression, Instruction, Scope, Typed, Value,
};

/// Compiles the field values of the token that an output arc makes. The inscription is one
/// expression for each field, or the name of a bound token, of which all fields are copied.
pub(super) fn token_values(
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
                if let Some(values) = record_values(name, wanted, scope).map_err(wrong)? {
                    return Ok(values);
                }
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

/// Compiles the fields of a record that an expression computes, as in `head(q.jobs)`. None if the
/// text is only the name of a variable.
fn record_values(
    text: &str,
    wanted: &[(String, FieldType)],
    scope: Scope<'_>,
) -> std::result::Result<Option<Vec<Value>>, String> {
    let tree = match parse(text) {
        Ok(Expression::Name(_)) | Err(_) => return Ok(None),
        Ok(tree) => tree,
    };
    let record = compile(&tree, scope)?;
    let FieldType::Record(colour) = record.kind else {
        return Err(format!("the token is {}, expected a record", record.kind));
    };
    let kinds = |fields: &[(String, FieldType)]| -> Vec<FieldType> {
        fields.iter().map(|field| field.1).collect()
    };
    if kinds(scope.net.fields_of(colour)) != kinds(wanted) {
        return Err("the token is a record of another colour than the place's".to_owned());
    }
    if wanted.len() > 1 && draws(&record.code, scope.net) {
        // The record is computed once for each field, so the fields could come from different
        // random draws.
        return Err("a record that draws cannot be a token; write its fields".to_owned());
    }
    let field = |(index, (_, kind)): (usize, &(String, FieldType))| {
        part(record.code.clone(), index, *kind).value()
    };
    Ok(Some(wanted.iter().enumerate().map(field).collect()))
}

/// Compiles an inscription (a text, a number or a truth value) to a value of the type `wanted`. The
/// error says what is allowed.
pub(super) fn inscription(
    json: &Json,
    wanted: FieldType,
    scope: Scope<'_>,
) -> std::result::Result<Value, String> {
    let typed = match json {
        Json::String(text) => compile(&parse(text)?, scope)?,
        Json::Number(number) => literal(constant_of(number)),
        Json::Bool(truth) => literal((u64::from(*truth), FieldType::Bool)),
        other => return Err(format!("found {other}, expected an expression or a number")),
    };
    Ok(convert(typed, wanted)?.value())
}

fn literal((word, kind): (u64, FieldType)) -> Typed {
    let code = vec![Instruction::Push(word)];
    Typed { code, kind }
}

/// Compiles the number of tokens of an output arc. A constant is checked here, other numbers when
/// the transition fires.
pub(super) fn count_of(json: &Json, scope: Scope<'_>, context: &str) -> Result<Value> {
    let wrong = |reason| NetError::input(context, reason);
    let value = inscription(json, FieldType::Int, scope).map_err(wrong)?;
    match value {
        Value::Constant(word) if word > TURNS_MAX => Err(wrong(bad_count(word))),
        value => Ok(value),
    }
}

pub(super) fn delay_of(json: &Json, scope: Scope<'_>, context: &str) -> Result<Value> {
    let value = inscription(json, FieldType::Real, scope);
    let value = value.map_err(|reason| NetError::input(context, reason))?;
    if let Value::Constant(word) = value {
        let seconds = f64::from_bits(word);
        if nanoseconds(seconds).is_none() {
            let found = seconds_text(seconds);
            let reason = format!("the delay is {found} s; it must be between 0 and 9e9");
            return Err(NetError::input(context, reason));
        }
    }
    Ok(value)
}
