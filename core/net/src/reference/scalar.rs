//! Values of the reference engine, as tagged scalars, lists and records in their simplest form.

use crate::definition::{Element, FieldType};
use crate::expression::{draw, BinaryOperator, Draw};
use crate::stream::Stream;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Int(i64),
    Real(f64),
    Bool(bool),
    Text(String),
    List(Vec<Scalar>),
    /// A record in a list: its fields with their names.
    Record(Vec<(String, Scalar)>),
}

impl Scalar {
    pub(crate) fn real(&self) -> f64 {
        match self {
            Scalar::Int(whole) => *whole as f64,
            Scalar::Real(real) => *real,
            other => panic!("{other:?} is no number"),
        }
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Scalar::Bool(truth) => *truth,
            other => panic!("{other:?} is no bool"),
        }
    }

    /// A field of a record.
    pub(crate) fn field(self, name: &str) -> Scalar {
        match self {
            Scalar::Record(mut fields) => {
                let at = fields.iter().position(|field| field.0 == name);
                fields.swap_remove(at.expect("a field")).1
            }
            other => panic!("{other:?} is no record"),
        }
    }

    /// The value as the words that the engine uses. A list is its length followed by its elements;
    /// a record is its fields.
    pub(crate) fn words(&self) -> Vec<u64> {
        match self {
            Scalar::Int(whole) => vec![*whole as u64],
            Scalar::Real(real) => vec![real.to_bits()],
            Scalar::Bool(truth) => vec![u64::from(*truth)],
            Scalar::Text(text) => {
                let letters: Vec<u64> = text.chars().map(u64::from).collect();
                [vec![letters.len() as u64], letters].concat()
            }
            Scalar::Record(fields) => fields.iter().flat_map(|field| field.1.words()).collect(),
            Scalar::List(elements) => {
                let words = elements.iter().flat_map(Scalar::words);
                std::iter::once(elements.len() as u64)
                    .chain(words)
                    .collect()
            }
        }
    }

    pub(crate) fn of_type(self, kind: FieldType) -> Self {
        match (self, kind) {
            (Scalar::Int(whole), FieldType::Real) => Scalar::Real(whole as f64),
            (Scalar::List(elements), FieldType::List(kind)) if !elements.is_empty() => {
                let kind = Element::field_type(kind).expect("lists with elements have a type");
                let typed = elements.into_iter().map(|one| one.of_type(kind));
                Scalar::List(typed.collect())
            }
            (value, _) => value,
        }
    }

    pub(crate) fn of_json(json: &serde_json::Value, kind: FieldType) -> Self {
        match (json, kind) {
            (serde_json::Value::Bool(truth), _) => Scalar::Bool(*truth),
            (serde_json::Value::String(text), _) => Scalar::Text(text.clone()),
            (json, FieldType::Int) => Scalar::Int(json.as_i64().expect("an int")),
            (json, _) => Scalar::Real(json.as_f64().expect("a number")),
        }
    }
}

pub(crate) fn binary(operator: BinaryOperator, left: Scalar, right: Scalar) -> Scalar {
    if let (Scalar::List(left), Scalar::List(right)) = (&left, &right) {
        return Scalar::Bool((left == right) == (operator == BinaryOperator::Equal));
    }
    if let (Scalar::Record(left), Scalar::Record(right)) = (&left, &right) {
        return Scalar::Bool((left == right) == (operator == BinaryOperator::Equal));
    }
    if let (Scalar::Text(left), Scalar::Text(right)) = (&left, &right) {
        return Scalar::Bool(match operator {
            BinaryOperator::Equal => left == right,
            BinaryOperator::Unequal => left != right,
            BinaryOperator::Less => left < right,
            BinaryOperator::AtMost => left <= right,
            BinaryOperator::Greater => left > right,
            _ => left >= right,
        });
    }
    if let (&Scalar::Int(left), &Scalar::Int(right)) = (&left, &right) {
        let whole = match operator {
            BinaryOperator::Add => Some(left + right),
            BinaryOperator::Subtract => Some(left - right),
            BinaryOperator::Multiply => Some(left * right),
            BinaryOperator::FloorDivide => Some((left as f64 / right as f64).floor() as i64),
            BinaryOperator::Modulo => {
                Some(left - right * (left as f64 / right as f64).floor() as i64)
            }
            _ => None,
        };
        if let Some(whole) = whole {
            return Scalar::Int(whole);
        }
    }
    if let (Scalar::Bool(left), Scalar::Bool(right)) = (&left, &right) {
        return Scalar::Bool((left == right) == (operator == BinaryOperator::Equal));
    }
    let (left, right) = (left.real(), right.real());
    match operator {
        BinaryOperator::Add => Scalar::Real(left + right),
        BinaryOperator::Subtract => Scalar::Real(left - right),
        BinaryOperator::Multiply => Scalar::Real(left * right),
        BinaryOperator::Divide => Scalar::Real(left / right),
        BinaryOperator::Equal => Scalar::Bool(left == right),
        BinaryOperator::Unequal => Scalar::Bool(left != right),
        BinaryOperator::Less => Scalar::Bool(left < right),
        BinaryOperator::AtMost => Scalar::Bool(left <= right),
        BinaryOperator::Greater => Scalar::Bool(left > right),
        BinaryOperator::AtLeast => Scalar::Bool(left >= right),
        other => panic!("{other:?} has no meaning for reals"),
    }
}

/// Evaluates a function of lists. None when no list function has that name.
fn of_lists(name: &str, arguments: &[Scalar]) -> Option<Scalar> {
    let list = |at: usize| match arguments.get(at) {
        Some(Scalar::List(elements)) => elements.clone(),
        other => panic!("{other:?} is no list"),
    };
    let made = match name {
        "length" => return Some(Scalar::Int(list(0).len() as i64)),
        "head" => return list(0).first().cloned(),
        "at" => return list(0).get(arguments[1].real() as usize).cloned(),
        "contains" => return Some(Scalar::Bool(list(0).contains(&arguments[1]))),
        "tail" => list(0)[1..].to_vec(),
        "reverse" => list(0).into_iter().rev().collect(),
        "cons" => [vec![arguments[0].clone()], list(1)].concat(),
        "append" => [list(0), vec![arguments[1].clone()]].concat(),
        "concat" => [list(0), list(1)].concat(),
        _ => return None,
    };
    Some(Scalar::List(made))
}

/// Evaluates a function of texts. None when no text function has that name and takes arguments of
/// these types.
fn of_texts(name: &str, arguments: &[Scalar]) -> Option<Scalar> {
    if let ("text", Some(Scalar::Int(whole))) = (name, arguments.first()) {
        return Some(Scalar::Text(whole.to_string()));
    }
    let Some(Scalar::Text(first)) = arguments.first() else {
        return None;
    };
    match (name, arguments.get(1)) {
        ("length", None) => Some(Scalar::Int(first.chars().count() as i64)),
        ("concat", Some(Scalar::Text(second))) => Some(Scalar::Text(format!("{first}{second}"))),
        ("compare", Some(Scalar::Text(second))) => Some(Scalar::Int(first.cmp(second) as i64)),
        _ => None,
    }
}

pub(crate) fn call(name: &str, arguments: &[Scalar], stream: &mut Stream) -> Scalar {
    if let Some(made) = of_texts(name, arguments) {
        return made;
    }
    if let Some(made) = of_lists(name, arguments) {
        return made;
    }
    let first = arguments[0].real();
    let second = arguments.get(1).map_or(0.0, |argument| argument.real());
    let draws = [
        ("exponential", Draw::Exponential),
        ("uniform", Draw::Uniform),
        ("erlang", Draw::Erlang),
        ("normal", Draw::Normal),
        ("discrete", Draw::Discrete),
    ];
    if let Some((_, kind)) = draws.iter().find(|entry| entry.0 == name) {
        let word = draw(*kind, first, second, stream).expect("good parameters");
        return match kind {
            Draw::Discrete => Scalar::Int(word as i64),
            _ => Scalar::Real(f64::from_bits(word)),
        };
    }
    let all_whole = arguments
        .iter()
        .all(|argument| matches!(argument, Scalar::Int(_)));
    let number = |real: f64| {
        if all_whole {
            Scalar::Int(real as i64)
        } else {
            Scalar::Real(real)
        }
    };
    match name {
        "min" => number(first.min(second)),
        "max" => number(first.max(second)),
        "abs" => number(first.abs()),
        "deterministic" => number(first),
        "floor" => Scalar::Int(first.floor() as i64),
        "ceil" => Scalar::Int(first.ceil() as i64),
        "sqrt" => Scalar::Real(first.sqrt()),
        other => panic!("the reference does not know {other}()"),
    }
}
