//! The reasons why the evaluation of an inscription (an expression of a net) can fail. Some reasons
//! are exceeded limits, which are defined here.

use super::function::Draw;

/// Largest length of a list. A longer list is an error, reported before memory is exhausted.
pub(crate) const LENGTH_MAX: u32 = 100_000;

/// Largest number of function calls while one inscription is evaluated. More calls are taken for an
/// endless recursion.
pub(crate) const CALLS_MAX: u32 = 1_000_000;

/// Largest depth of nested function calls.
pub(super) const CALLS_DEEP_MAX: u32 = 1_000;

/// The reason for which the evaluation of an inscription failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    DivisionByZero,
    IntegerOverflow,
    /// A real that is NaN or outside the range of 64-bit integers was converted to an int.
    NoInteger(f64),
    /// A distribution received an invalid parameter.
    Parameter {
        draw: Draw,
        value: f64,
    },
    /// `head` or `tail` was called with an empty list; `name` is the function.
    EmptyList {
        name: &'static str,
    },
    /// An element with an index outside of a list was requested.
    NoElement {
        index: i64,
        length: u64,
    },
    /// A list exceeded the largest length.
    LongList,
    /// Functions exceeded the largest number or depth of calls.
    EndlessCalls,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::DivisionByZero => formatter.write_str("integer division by zero"),
            Fault::IntegerOverflow => formatter.write_str("an int left the 64-bit range"),
            Fault::NoInteger(value) => write!(formatter, "{value} has no int value"),
            Fault::Parameter { draw, value } => {
                let name = draw.name();
                write!(formatter, "{name}(): the parameter {value} is out of range")
            }
            Fault::EmptyList { name } => write!(formatter, "{name}() of an empty list"),
            Fault::NoElement { index, length } => {
                write!(formatter, "at(): a list of {length} has no element {index}")
            }
            Fault::EndlessCalls => write!(
                formatter,
                "functions call each other more than {CALLS_DEEP_MAX} deep or {CALLS_MAX} times"
            ),
            Fault::LongList => {
                write!(formatter, "a list grew beyond {LENGTH_MAX} elements")
            }
        }
    }
}
