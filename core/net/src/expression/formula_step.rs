//! The steps by which formulas are computed: each determines one value from earlier values.

use super::function::Pure;
use super::parse::BinaryOperator;
use super::program::{on_integers, on_reals, pure, pure_integer, unary, Instruction};
use crate::clock::nanoseconds;

/// Largest number of values of the formulas of one transition: constants, fields and results.
pub(crate) const VALUES_MAX: usize = 64;

/// The values of the formulas of one transition.
pub(super) type Values = [u64; VALUES_MAX];

/// How a value of the formulas is determined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    Constant(u64),
    /// A field of the token that an input arc takes.
    Field {
        arc: u8,
        field: u8,
    },
    Result(Operation),
    /// The nanoseconds of a delay. The earlier value at this position is the delay in seconds.
    Nanoseconds(u8),
}

/// An operation on earlier values, given by their positions. The instruction `SkipUnless` selects a
/// value by the first operand, a truth value: the second operand if it is true, else the third.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Operation {
    pub(super) instruction: Instruction,
    pub(super) operands: [u8; 3],
}

/// What a step does. Each frequent operation has a separate code, so that one jump finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Code {
    Field,
    Nanoseconds,
    Select,
    Add,
    Subtract,
    Multiply,
    FloorDivide,
    Min,
    Less,
    AtMost,
    ToReal,
    AddReals,
    MultiplyReals,
    DivideReals,
    /// The instruction of the step.
    Other,
}

/// One step of the computation: determines the value at the position `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) code: Code,
    pub(super) to: u8,
    /// The positions of earlier values; the input arc and the field if the code is `Field`.
    pub(super) operands: [u8; 3],
    /// The number of steps after this one that depend on no other field or result than this step's
    /// value. If the value is that of the last firing, so are their values.
    pub(super) followers: u8,
    instruction: Instruction,
}

impl Source {
    /// The positions of the values that determine this value.
    pub(super) fn operands(&self) -> &[u8] {
        match self {
            Source::Constant(_) | Source::Field { .. } => &[],
            Source::Nanoseconds(delay_s) => std::slice::from_ref(delay_s),
            Source::Result(Operation {
                instruction: Instruction::SkipUnless(_),
                operands,
            }) => operands,
            Source::Result(operation) => {
                let count = operands_of(operation.instruction).unwrap_or_default();
                &operation.operands[..count]
            }
        }
    }
}

/// Number of operands of an instruction whose result depends only on its operands; None for other
/// instructions.
pub(super) fn operands_of(instruction: Instruction) -> Option<usize> {
    match instruction {
        Instruction::Integer(_) | Instruction::Real(_) => Some(2),
        Instruction::PureInteger(function) | Instruction::PureReal(function) => {
            Some(function.arguments())
        }
        Instruction::IntegerToReal
        | Instruction::NegateInteger
        | Instruction::NegateReal
        | Instruction::Not => Some(1),
        _ => None,
    }
}

impl Step {
    pub(super) fn new(source: Source, to: u8) -> Self {
        let (mut code, mut operands) = (Code::Other, [0; 3]);
        let mut instruction = Instruction::Push(0);
        match source {
            Source::Constant(_) => {}
            Source::Field { arc, field } => (code, operands) = (Code::Field, [arc, field, 0]),
            Source::Nanoseconds(delay_s) => {
                (code, operands) = (Code::Nanoseconds, [delay_s, 0, 0]);
            }
            Source::Result(operation) => {
                Operation {
                    instruction,
                    operands,
                } = operation;
                let is_swapped;
                (code, is_swapped) = code_of(instruction);
                if is_swapped {
                    operands.swap(0, 1);
                }
            }
        }
        Self {
            code,
            to,
            operands,
            followers: 0,
            instruction,
        }
    }

    /// The value that the step determines from earlier values. None if the operation fails.
    #[inline(always)]
    pub(super) fn word(&self, values: &Values) -> Option<u64> {
        let word = |operand: usize| values[usize::from(self.operands[operand]) % VALUES_MAX];
        let int = |operand| word(operand) as i64;
        let real = |operand| f64::from_bits(word(operand));
        Some(match self.code {
            Code::Nanoseconds => nanoseconds(real(0))?,
            Code::Select => match word(0) {
                0 => word(2),
                _ => word(1),
            },
            Code::Add => int(0).checked_add(int(1))? as u64,
            Code::Subtract => int(0).checked_sub(int(1))? as u64,
            Code::Multiply => int(0).checked_mul(int(1))? as u64,
            Code::FloorDivide => on_integers(BinaryOperator::FloorDivide, int(0), int(1)).ok()?,
            Code::Min => int(0).min(int(1)) as u64,
            Code::Less => u64::from(int(0) < int(1)),
            Code::AtMost => u64::from(int(0) <= int(1)),
            Code::ToReal => (int(0) as f64).to_bits(),
            Code::AddReals => (real(0) + real(1)).to_bits(),
            Code::MultiplyReals => (real(0) * real(1)).to_bits(),
            Code::DivideReals => (real(0) / real(1)).to_bits(),
            Code::Field | Code::Other => other_word(self.instruction, word(0), word(1))?,
        })
    }
}

/// The code of an instruction, and whether its two operands change places.
fn code_of(instruction: Instruction) -> (Code, bool) {
    let code = match instruction {
        Instruction::SkipUnless(_) => Code::Select,
        Instruction::IntegerToReal => Code::ToReal,
        Instruction::PureInteger(Pure::Min) => Code::Min,
        Instruction::Integer(BinaryOperator::Add) => Code::Add,
        Instruction::Integer(BinaryOperator::Subtract) => Code::Subtract,
        Instruction::Integer(BinaryOperator::Multiply) => Code::Multiply,
        Instruction::Integer(BinaryOperator::FloorDivide) => Code::FloorDivide,
        Instruction::Integer(BinaryOperator::Less) => Code::Less,
        Instruction::Integer(BinaryOperator::AtMost) => Code::AtMost,
        Instruction::Integer(BinaryOperator::Greater) => return (Code::Less, true),
        Instruction::Integer(BinaryOperator::AtLeast) => return (Code::AtMost, true),
        Instruction::Real(BinaryOperator::Add) => Code::AddReals,
        Instruction::Real(BinaryOperator::Multiply) => Code::MultiplyReals,
        Instruction::Real(BinaryOperator::Divide) => Code::DivideReals,
        _ => Code::Other,
    };
    (code, false)
}

/// The result of an instruction that has no separate code. None if the instruction fails.
#[inline(never)]
fn other_word(instruction: Instruction, first: u64, second: u64) -> Option<u64> {
    let (real, other) = (f64::from_bits(first), f64::from_bits(second));
    let word = match instruction {
        Instruction::Integer(operator) => on_integers(operator, first as i64, second as i64),
        Instruction::Real(operator) => return Some(on_reals(operator, real, other)),
        Instruction::PureInteger(function) => pure_integer(function, first as i64, second as i64),
        Instruction::PureReal(function) => pure(function, real, other),
        instruction => unary(instruction, first),
    };
    word.ok()
}
