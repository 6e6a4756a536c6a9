//! The inscription language, in which a net states guards, delays and the values of tokens. Text is
//! parsed into a tree, types are checked, and the typed tree is compiled to flat code for a stack
//! machine.

mod chance;
mod check;
mod distribution;
mod fault;
mod formula_step;
mod formulas;
mod function;
mod list;
mod parse;
mod program;
mod record;
mod text;

pub(crate) use chance::draws;
pub(crate) use check::{compile, constant_of, convert, Scope, Typed, Variable};
#[cfg(any(test, feature = "reference"))]
pub(crate) use distribution::draw;
pub(crate) use distribution::{exponential, Table};
pub(crate) use fault::{Fault, CALLS_MAX, LENGTH_MAX};
pub(crate) use formulas::{Collector, Formulas, VALUES_MAX};
pub(crate) use function::{is_draw, is_function, Draw};
#[cfg(any(test, feature = "reference"))]
pub(crate) use parse::UnaryOperator;
pub(crate) use parse::{parse, BinaryOperator, Expression};
pub(crate) use program::{evaluate, Binding, Code, Instruction, Library, Value};
pub(crate) use record::part;
