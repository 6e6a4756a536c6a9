//! Evaluates several inscriptions of one transition together. A part that occurs in several
//! inscriptions is computed once per firing. No stack is needed.

use super::fault::Fault;
use super::program::{on_integers, on_reals, pure, pure_integer, unary, Instruction};

/// Largest number of values of the formulas of one transition: constants, fields and results.
pub(crate) const VALUES_MAX: usize = 64;

/// The values of the formulas of one transition.
pub(crate) type Values = [u64; VALUES_MAX];

/// How a value of the formulas is determined.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Constant(u64),
    /// A field of the token that an input arc takes.
    Field {
        arc: u16,
        field: u16,
    },
    Result(Operation),
}

/// An operation on earlier values, given by their positions. The instruction `SkipUnless` selects a
/// value by the first operand, a truth value: the second operand if it is true, else the third.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Operation {
    instruction: Instruction,
    operands: [u8; 3],
}

/// Inscriptions of one transition that neither draw at random nor read locals, the time or lists.
#[derive(Debug, Default)]
pub(crate) struct Formulas {
    constants: Vec<(u8, u64)>,
    /// The values that are fields of tokens. Each is given by its position among all values, the
    /// input arc that takes the token, and the field.
    fields: Vec<(u8, u16, u16)>,
    /// For each result of an operation: the position of the result, and the operation on earlier
    /// values.
    results: Vec<(u8, Operation)>,
}

/// Collects the values of formulas, each only once.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    sources: Vec<Source>,
}

impl Collector {
    /// Adds the program of an inscription. Returns the position of its value. None if a formula
    /// cannot express the program, or if there would be too many values.
    pub(crate) fn add(&mut self, code: &[Instruction]) -> Option<u8> {
        let known = self.sources.len();
        let found = self.value_of(code);
        if found.is_none() {
            self.sources.truncate(known);
        }
        found
    }

    /// Returns the position of the value that a program, or a branch of it, leaves on the stack.
    fn value_of(&mut self, code: &[Instruction]) -> Option<u8> {
        let mut stack: Vec<u8> = Vec::new();
        let mut left = code;
        while let [instruction, rest @ ..] = left {
            left = rest;
            let source = match *instruction {
                Instruction::Push(word) => Source::Constant(word),
                Instruction::Load { arc, field } => Source::Field { arc, field },
                Instruction::SkipUnless(distance) => {
                    let (yes, rest) = left.split_at_checked(usize::from(distance))?;
                    let (&Instruction::Skip(distance), yes) = yes.split_last()? else {
                        return None;
                    };
                    let (no, rest) = rest.split_at_checked(usize::from(distance))?;
                    left = rest;
                    let operands = [stack.pop()?, self.value_of(yes)?, self.value_of(no)?];
                    Source::Result(Operation {
                        instruction: Instruction::SkipUnless(0),
                        operands,
                    })
                }
                instruction => {
                    let mut operands = [0; 3];
                    for operand in operands[..operands_of(instruction)?].iter_mut().rev() {
                        *operand = stack.pop()?;
                    }
                    Source::Result(Operation {
                        instruction,
                        operands,
                    })
                }
            };
            stack.push(self.position(source)?);
        }
        match stack[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    fn position(&mut self, source: Source) -> Option<u8> {
        let found = self.sources.iter().position(|known| *known == source);
        let at = found.unwrap_or(self.sources.len());
        if at == self.sources.len() {
            self.sources.push(source);
        }
        (at < VALUES_MAX).then_some(at as u8)
    }

    pub(crate) fn formulas(self) -> Formulas {
        let mut found = Formulas::default();
        for (at, source) in (0u8..).zip(self.sources) {
            match source {
                Source::Constant(word) => found.constants.push((at, word)),
                Source::Field { arc, field } => found.fields.push((at, arc, field)),
                Source::Result(operation) => found.results.push((at, operation)),
            }
        }
        found
    }
}

/// Number of operands of an instruction whose result depends only on its operands; None for other
/// instructions.
fn operands_of(instruction: Instruction) -> Option<usize> {
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

impl Formulas {
    /// Computes all values for one firing. `field_of` returns a field of the token that an input
    /// arc takes. Returns false if any operation fails. This includes operations in the branch of
    /// an `if` that is not selected, since both branches are computed.
    #[inline(always)]
    pub(crate) fn compute(&self, values: &mut Values, field_of: impl Fn(u16, u16) -> u64) -> bool {
        for &(at, word) in &self.constants {
            values[usize::from(at) % VALUES_MAX] = word;
        }
        for &(at, arc, field) in &self.fields {
            values[usize::from(at) % VALUES_MAX] = field_of(arc, field);
        }
        for &(at, operation) in &self.results {
            let [first, second, third] = operation.operands;
            let word_at = |operand: u8| values[usize::from(operand) % VALUES_MAX];
            let words = [word_at(first), word_at(second), word_at(third)];
            let Ok(word) = operation.of(words) else {
                return false;
            };
            values[usize::from(at) % VALUES_MAX] = word;
        }
        true
    }
}

impl Operation {
    #[inline(always)]
    fn of(self, [first, second, third]: [u64; 3]) -> Result<u64, Fault> {
        match self.instruction {
            Instruction::Integer(operator) => on_integers(operator, first as i64, second as i64),
            Instruction::Real(operator) => {
                let (first, second) = (f64::from_bits(first), f64::from_bits(second));
                Ok(on_reals(operator, first, second))
            }
            Instruction::PureInteger(function) => {
                pure_integer(function, first as i64, second as i64)
            }
            Instruction::PureReal(function) => {
                pure(function, f64::from_bits(first), f64::from_bits(second))
            }
            Instruction::SkipUnless(_) => Ok(if first == 0 { third } else { second }),
            instruction => unary(instruction, first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::BinaryOperator;

    const FIRST: Instruction = Instruction::Load { arc: 0, field: 0 };
    const SECOND: Instruction = Instruction::Load { arc: 1, field: 2 };

    /// The values at the positions `at` for tokens whose fields are `first` and `second`; None if
    /// an operation fails.
    fn values_at(collector: Collector, at: &[u8], [first, second]: [i64; 2]) -> Option<Vec<i64>> {
        let formulas = collector.formulas();
        let mut values = [0; VALUES_MAX];
        let field_of = |arc, _| {
            if arc == 0 {
                first as u64
            } else {
                second as u64
            }
        };
        let is_computed = formulas.compute(&mut values, field_of);
        is_computed.then(|| {
            at.iter()
                .map(|&at| values[usize::from(at)] as i64)
                .collect()
        })
    }

    #[test]
    fn equal_parts_are_computed_once() {
        use BinaryOperator::{Add, Multiply};
        let product = [FIRST, SECOND, Instruction::Integer(Multiply)];
        let sum = [Instruction::Push(7), Instruction::Integer(Add)];
        let mut collector = Collector::default();
        let at = [&product[..], &[product.as_slice(), &sum].concat()]
            .map(|code| collector.add(code).expect("the program is a formula"));
        // The five values are the two fields, their product, the number 7, and the sum of the
        // product and 7.
        assert_eq!(collector.sources.len(), 5);
        assert_eq!(values_at(collector, &at, [3, -5]), Some(vec![-15, -8]));
    }

    #[test]
    fn a_branch_is_chosen_and_any_failure_is_reported() {
        use BinaryOperator::{Equal, FloorDivide};
        let code = [
            FIRST,
            Instruction::Push(0),
            Instruction::Integer(Equal),
            Instruction::SkipUnless(2),
            SECOND,
            Instruction::Skip(3),
            SECOND,
            FIRST,
            Instruction::Integer(FloorDivide),
        ];
        for (fields, wanted) in [([2, 9], Some(vec![4])), ([0, 9], None)] {
            let mut collector = Collector::default();
            let at = collector.add(&code).expect("the program is a formula");
            assert_eq!(values_at(collector, &[at], fields), wanted);
        }
    }

    #[test]
    fn a_program_that_reads_the_time_or_is_too_long_is_no_formula() {
        let mut collector = Collector::default();
        let clock = [Instruction::Now, Instruction::NegateReal];
        assert_eq!(collector.add(&clock), None);
        let add = Instruction::Integer(BinaryOperator::Add);
        let long: Vec<Instruction> = (0..VALUES_MAX as u64)
            .flat_map(|number| [Instruction::Push(number), add])
            .collect();
        assert_eq!(collector.add(&[&[FIRST], &long[..]].concat()), None);
        assert!(
            collector.sources.is_empty(),
            "nothing of the programs is left"
        );
        assert_eq!(collector.add(&[SECOND]), Some(0));
    }
}
