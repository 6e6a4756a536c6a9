//! Compiled inscriptions as flat code, and the stack machine that evaluates them.
//!
//! Every value is one 64-bit word: an int, the bits of a real, 0 or 1 for a truth value, or the
//! number of a list. Token fields and the stack are therefore plain arrays. Recursion occurs only
//! in calls of functions that a net defines. Memory is allocated only by functions of lists.

use std::cell::RefCell;

use super::distribution::{draw, exponential, Table};
use super::fault::{Fault, CALLS_DEEP_MAX};
use super::function::{Draw, ListFunction, Pure};
use super::parse::BinaryOperator;
use crate::clock::seconds;
use crate::lists::{Lists, EMPTY};
use crate::stream::Stream;

/// Largest number of values on the stack of a program. Expressions that need more are rejected at
/// compile time.
pub(crate) const STACK_MAX: usize = 32;

/// One instruction of the stack machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Instruction {
    Push(u64),
    /// Pushes a field of the token that an input arc has bound.
    Load {
        arc: u16,
        field: u16,
    },
    /// Pushes the simulated time in seconds.
    Now,
    /// Pushes an argument of the function that is running, or a local of the transition (a value
    /// computed once per firing).
    Parameter(u16),
    IntegerToReal,
    NegateInteger,
    NegateReal,
    Not,
    /// Applies an operator to two ints (or bools); the result is an int or a bool.
    Integer(BinaryOperator),
    /// Applies an operator to two reals; the result is a real or a bool.
    Real(BinaryOperator),
    /// Applies a function to ints.
    PureInteger(Pure),
    /// Applies a function to reals.
    PureReal(Pure),
    Draw(Draw),
    /// Draws a value from the table (a histogram) with that index.
    Empirical(u16),
    /// Applies a function to the list on top of the stack. If the function has two arguments, the
    /// second one is the next word of the stack.
    List(ListFunction),
    /// Calls the function of the net with the index `function`, which takes `arguments` words off
    /// the stack.
    Call {
        function: u16,
        arguments: u16,
    },
    /// Pops a truth value. If it is false, skips this number of instructions.
    SkipUnless(u16),
    Skip(u16),
}

/// The tables (histograms) and functions that the inscriptions of a net may use.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// The histograms of the net.
    pub(crate) tables: Vec<Table>,
    pub(crate) functions: Vec<Code>,
}

/// A program that leaves one value on the stack.
pub(crate) type Code = Box<[Instruction]>;

/// A compiled inscription. Most inscriptions are a field or a number, for which no program has to
/// run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Constant(u64),
    Field {
        arc: u16,
        field: u16,
    },
    /// An int field plus a constant, as in a counter: `change` is the constant.
    Counted {
        arc: u16,
        field: u16,
        change: i64,
    },
    /// A draw from the distribution `kind`, whose only parameter is the constant `parameter`.
    Draw {
        kind: Draw,
        parameter: f64,
    },
    Code(Code),
}

/// The data that an inscription reads when it is evaluated. `rows` has the field values of all
/// tokens; a row of `stride` words belongs to one token. The row of the token that arc `arc` has
/// bound begins at `tokens[arc] * stride`.
#[derive(Clone, Copy)]
pub(crate) struct Binding<'a> {
    pub(crate) rows: &'a [u64],
    pub(crate) stride: usize,
    pub(crate) tokens: &'a [u32],
    pub(crate) library: &'a Library,
    /// The arguments of the function that is running, or the locals of the transition.
    pub(crate) parameters: &'a [u64],
    /// The number of function calls in progress.
    pub(crate) depth: u32,
    pub(crate) now_ns: u64,
    /// The lists of the run; evaluation may add lists.
    pub(crate) lists: &'a RefCell<Lists>,
}

impl Binding<'_> {
    #[inline]
    fn load(&self, arc: u16, field: u16) -> u64 {
        self.rows[self.tokens[arc as usize] as usize * self.stride + field as usize]
    }
}

impl Value {
    /// Evaluates the inscription for the tokens of a binding.
    #[inline(always)]
    pub(crate) fn of(&self, binding: Binding<'_>, stream: &mut Stream) -> Result<u64, Fault> {
        match self {
            Value::Constant(word) => Ok(*word),
            Value::Field { arc, field } => Ok(binding.load(*arc, *field)),
            Value::Counted { arc, field, change } => {
                match (binding.load(*arc, *field) as i64).checked_add(*change) {
                    Some(whole) => Ok(whole as u64),
                    None => Err(Fault::IntegerOverflow),
                }
            }
            Value::Draw {
                kind: Draw::Exponential,
                parameter,
            } if (0.0..f64::MAX).contains(parameter) => Ok(exponential(*parameter, stream)),
            Value::Draw { kind, parameter } => draw(*kind, *parameter, 0.0, stream),
            Value::Code(code) => evaluate(code, binding, stream),
        }
    }
}

/// Runs a program and returns its value as a 64-bit word. The compiler has checked that the stack
/// suffices and that the types agree.
pub(crate) fn evaluate(
    code: &[Instruction],
    binding: Binding<'_>,
    stream: &mut Stream,
) -> Result<u64, Fault> {
    let mut stack = [0u64; STACK_MAX];
    let mut top = 0;
    let mut at = 0;
    while let Some(&instruction) = code.get(at) {
        at += 1;
        match instruction {
            Instruction::Push(word) => {
                stack[top] = word;
                top += 1;
            }
            Instruction::Load { arc, field } => {
                stack[top] = binding.load(arc, field);
                top += 1;
            }
            Instruction::Integer(operator) => {
                top -= 1;
                let (left, right) = (stack[top - 1] as i64, stack[top] as i64);
                stack[top - 1] = on_integers(operator, left, right)?;
            }
            Instruction::Real(operator) => {
                top -= 1;
                let (left, right) = (f64::from_bits(stack[top - 1]), f64::from_bits(stack[top]));
                stack[top - 1] = on_reals(operator, left, right);
            }
            Instruction::SkipUnless(distance) => {
                top -= 1;
                at += if stack[top] == 0 {
                    usize::from(distance)
                } else {
                    0
                };
            }
            Instruction::Skip(distance) => at += usize::from(distance),
            Instruction::IntegerToReal
            | Instruction::NegateInteger
            | Instruction::NegateReal
            | Instruction::Not => stack[top - 1] = unary(instruction, stack[top - 1])?,
            other => top = seldom(other, &mut stack, top, binding, stream)?,
        }
    }
    debug_assert_eq!(top, 1, "a program leaves one value");
    Ok(stack[0])
}

/// Executes an instruction of a less frequent kind (function, draw or parameter). `top` is the
/// number of values on the stack. Returns this number after the instruction.
#[inline]
fn seldom(
    instruction: Instruction,
    stack: &mut [u64; STACK_MAX],
    mut top: usize,
    binding: Binding<'_>,
    stream: &mut Stream,
) -> Result<usize, Fault> {
    match instruction {
        Instruction::Empirical(table) => {
            let table = &binding.library.tables[usize::from(table)];
            stack[top] = table.draw(stream).to_bits();
            return Ok(top + 1);
        }
        Instruction::Now => {
            stack[top] = seconds(binding.now_ns).to_bits();
            return Ok(top + 1);
        }
        Instruction::Parameter(at) => {
            stack[top] = binding.parameters[usize::from(at)];
            return Ok(top + 1);
        }
        Instruction::Call {
            function,
            arguments,
        } => {
            let first = top - usize::from(arguments);
            stack[first] = called(function, &stack[first..top], binding, stream)?;
            return Ok(first + 1);
        }
        Instruction::List(function) => {
            top -= function.arguments() - 1;
            stack[top - 1] = on_lists(function, [stack[top - 1], stack[top]], binding.lists)?;
        }
        Instruction::Draw(kind) => {
            top -= kind.arguments() - 1;
            let first = f64::from_bits(stack[top - 1]);
            stack[top - 1] = draw(kind, first, f64::from_bits(stack[top]), stream)?;
        }
        Instruction::PureInteger(function) => {
            top -= function.arguments() - 1;
            let first = stack[top - 1] as i64;
            stack[top - 1] = pure_integer(function, first, stack[top] as i64)?;
        }
        Instruction::PureReal(function) => {
            top -= function.arguments() - 1;
            let first = f64::from_bits(stack[top - 1]);
            stack[top - 1] = pure(function, first, f64::from_bits(stack[top]))?;
        }
        other => unreachable!("{other:?} has its own arm"),
    }
    Ok(top)
}

/// Runs a function that the net defines; its arguments are on the stack.
#[inline(never)]
fn called(
    function: u16,
    arguments: &[u64],
    binding: Binding<'_>,
    stream: &mut Stream,
) -> Result<u64, Fault> {
    if binding.depth >= CALLS_DEEP_MAX || !binding.lists.borrow_mut().count_call(binding.depth) {
        return Err(Fault::EndlessCalls);
    }
    let inside = Binding {
        parameters: arguments,
        depth: binding.depth + 1,
        ..binding
    };
    let code = &binding.library.functions[usize::from(function)];
    evaluate(code, inside, stream)
}

/// Applies a binary operator to two ints. `//` and `%` round towards minus infinity.
#[inline]
pub(crate) fn on_integers(operator: BinaryOperator, left: i64, right: i64) -> Result<u64, Fault> {
    let whole = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::FloorDivide | BinaryOperator::Modulo if right == 0 => {
            return Err(Fault::DivisionByZero);
        }
        BinaryOperator::FloorDivide => left.checked_div_euclid(right).map(|quotient| {
            // Rust's Euclidean division rounds up if the divisor is negative, but floor division
            // rounds down.
            let inexact = quotient * right != left;
            quotient - i64::from(inexact && right < 0)
        }),
        BinaryOperator::Modulo => left.checked_rem_euclid(right).map(|rest| {
            let negative = right < 0 && rest != 0;
            rest + if negative { right } else { 0 }
        }),
        BinaryOperator::Equal => return Ok(u64::from(left == right)),
        BinaryOperator::Unequal => return Ok(u64::from(left != right)),
        BinaryOperator::Less => return Ok(u64::from(left < right)),
        BinaryOperator::AtMost => return Ok(u64::from(left <= right)),
        BinaryOperator::Greater => return Ok(u64::from(left > right)),
        BinaryOperator::AtLeast => return Ok(u64::from(left >= right)),
        BinaryOperator::Or | BinaryOperator::And | BinaryOperator::Divide => {
            unreachable!("{operator:?} on ints is compiled to other instructions")
        }
    };
    whole
        .map(|value| value as u64)
        .ok_or(Fault::IntegerOverflow)
}

/// Applies a binary operator to two reals. Division by zero gives an infinity or NaN, as in IEEE
/// 754.
#[inline]
pub(crate) fn on_reals(operator: BinaryOperator, left: f64, right: f64) -> u64 {
    match operator {
        BinaryOperator::Add => (left + right).to_bits(),
        BinaryOperator::Subtract => (left - right).to_bits(),
        BinaryOperator::Multiply => (left * right).to_bits(),
        BinaryOperator::Divide => (left / right).to_bits(),
        BinaryOperator::Equal => u64::from(left == right),
        BinaryOperator::Unequal => u64::from(left != right),
        BinaryOperator::Less => u64::from(left < right),
        BinaryOperator::AtMost => u64::from(left <= right),
        BinaryOperator::Greater => u64::from(left > right),
        BinaryOperator::AtLeast => u64::from(left >= right),
        BinaryOperator::Or
        | BinaryOperator::And
        | BinaryOperator::FloorDivide
        | BinaryOperator::Modulo => {
            unreachable!("{operator:?} on reals is refused when the net is built")
        }
    }
}

/// Applies an instruction with one operand, which replaces the value on top of the stack.
#[inline]
pub(super) fn unary(instruction: Instruction, word: u64) -> Result<u64, Fault> {
    Ok(match instruction {
        Instruction::IntegerToReal => (word as i64 as f64).to_bits(),
        Instruction::NegateInteger => {
            (word as i64).checked_neg().ok_or(Fault::IntegerOverflow)? as u64
        }
        Instruction::NegateReal => (-f64::from_bits(word)).to_bits(),
        Instruction::Not => u64::from(word == 0),
        other => unreachable!("{other:?} has its own arm"),
    })
}

/// Applies a function of one or two ints. Only `min` and `max` use `second`. Fails on overflow.
#[inline]
pub(super) fn pure_integer(function: Pure, first: i64, second: i64) -> Result<u64, Fault> {
    let value = match function {
        Pure::Min => Some(first.min(second)),
        Pure::Max => Some(first.max(second)),
        Pure::Abs => first.checked_abs(),
        other => unreachable!("{other:?} of ints is compiled to other instructions"),
    };
    value
        .map(|whole| whole as u64)
        .ok_or(Fault::IntegerOverflow)
}

/// Applies a function of one or two reals. Only `min` and `max` use `second`.
#[inline]
pub(crate) fn pure(function: Pure, first: f64, second: f64) -> Result<u64, Fault> {
    Ok(match function {
        Pure::Min => first.min(second).to_bits(),
        Pure::Max => first.max(second).to_bits(),
        Pure::Ceil => whole(first.ceil())?,
        Pure::Floor => whole(first.floor())?,
        Pure::Round => whole(first.round_ties_even())?,
        Pure::Ln => first.ln().to_bits(),
        Pure::Exp => first.exp().to_bits(),
        Pure::Sqrt => first.sqrt().to_bits(),
        Pure::Abs => first.abs().to_bits(),
        Pure::Deterministic => first.to_bits(),
    })
}

/// Applies a function of lists or texts to its one or two arguments, each a 64-bit word. The first
/// word of `cons` is the list and the second the element. In this order, a list literal needs no
/// deeper stack than its elements.
fn on_lists(function: ListFunction, words: [u64; 2], lists: &RefCell<Lists>) -> Result<u64, Fault> {
    let [list, second] = words;
    let mut lists = lists.borrow_mut();
    let empty = |name| Fault::EmptyList { name };
    match function {
        ListFunction::Length => Ok(lists.length(list)),
        ListFunction::Head => lists.head(list).ok_or(empty("head")),
        ListFunction::Tail => lists.tail(list).ok_or(empty("tail")),
        ListFunction::Reverse => lists.reverse(list),
        ListFunction::Cons => lists.prepend(second, list),
        ListFunction::Append => {
            let last = lists.prepend(second, EMPTY)?;
            lists.concat(list, last)
        }
        ListFunction::Concat => lists.concat(list, second),
        ListFunction::Contains => {
            let found = lists.elements(list).any(|element| element == second);
            Ok(u64::from(found))
        }
        ListFunction::Digits => lists.text(&(list as i64).to_string()),
        ListFunction::Compare => {
            let order = lists.elements(list).cmp(lists.elements(second));
            Ok(order as i64 as u64)
        }
        ListFunction::At => {
            let index = second as i64;
            let found = usize::try_from(index).ok();
            let found = found.and_then(|index| lists.elements(list).nth(index));
            let length = lists.length(list);
            found.ok_or(Fault::NoElement { index, length })
        }
    }
}

/// Converts a real to an int. Fails if the real is outside the range of 64-bit integers.
fn whole(value: f64) -> Result<u64, Fault> {
    const RANGE: f64 = 9_223_372_036_854_775_808.0;
    match (-RANGE..RANGE).contains(&value) {
        true => Ok(value as i64 as u64),
        false => Err(Fault::NoInteger(value)),
    }
}
