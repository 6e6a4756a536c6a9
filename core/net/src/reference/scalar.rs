//! Values of the reference engine: tagged scalars, computed in the obvious way.

use crate::definition::FieldType;
use crate::expression::{draw, BinaryOperator, Draw};
use crate::stream::Stream;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Int(i64),
    Real(f64),
    Bool(bool),
}

impl Scalar {
    pub(crate) fn real(self) -> f64 {
        match self {
            Scalar::Int(whole) => whole as f64,
            Scalar::Real(real) => real,
            Scalar::Bool(_) => panic!("a bool is no number"),
        }
    }

    pub(crate) fn truth(self) -> bool {
        match self {
            Scalar::Bool(truth) => truth,
            other => panic!("{other:?} is no bool"),
        }
    }

    pub(crate) fn word(self) -> u64 {
        match self {
            Scalar::Int(whole) => whole as u64,
            Scalar::Real(real) => real.to_bits(),
            Scalar::Bool(truth) => u64::from(truth),
        }
    }

    pub(crate) fn of_type(self, kind: FieldType) -> Self {
        match (self, kind) {
            (Scalar::Int(whole), FieldType::Real) => Scalar::Real(whole as f64),
            (value, _) => value,
        }
    }

    pub(crate) fn of_json(json: &serde_json::Value, kind: FieldType) -> Self {
        match (json, kind) {
            (serde_json::Value::Bool(truth), _) => Scalar::Bool(*truth),
            (json, FieldType::Int) => Scalar::Int(json.as_i64().expect("an int")),
            (json, _) => Scalar::Real(json.as_f64().expect("a number")),
        }
    }
}

pub(crate) fn binary(operator: BinaryOperator, left: Scalar, right: Scalar) -> Scalar {
    if let (Scalar::Int(left), Scalar::Int(right)) = (left, right) {
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
    if let (Scalar::Bool(left), Scalar::Bool(right)) = (left, right) {
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

pub(crate) fn call(name: &str, arguments: &[Scalar], stream: &mut Stream) -> Scalar {
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
