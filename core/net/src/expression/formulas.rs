//! Evaluates several inscriptions of one transition together. A part that occurs in several
//! inscriptions is computed once per firing. No stack is needed.

use super::formula_step::{operands_of, Code, Operation, Source, Step};
use super::program::Instruction;

pub(crate) use super::formula_step::VALUES_MAX;

/// Inscriptions of one transition that neither draw at random nor read locals, the time or lists.
///
/// The values of one firing stay until the next firing of the transition. Constants are therefore
/// written once, and a value that did not change need not be computed again. In a net whose tokens
/// are network packets, for example, most packets have the same size.
#[derive(Debug)]
pub(crate) struct Formulas {
    /// Position of the first value of this transition among the values of all transitions.
    first: usize,
    steps: Box<[Step]>,
}

/// Collects the values of formulas, each only once.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// Position of the first value among the values of all transitions.
    first: usize,
    sources: Vec<Source>,
}

impl Collector {
    /// Returns a collector for a transition. `values` has the values of other transitions.
    pub(crate) fn after(values: &[u64]) -> Self {
        Self {
            first: values.len(),
            sources: Vec::new(),
        }
    }

    /// Adds the program of an inscription. Returns the position of its value among the values of
    /// all transitions. None if a formula cannot express the program, or if there would be too many
    /// values.
    pub(crate) fn add(&mut self, code: &[Instruction]) -> Option<usize> {
        self.add_all(|values| values.value_of(code))
    }

    /// Adds the program of a delay, whose value is in seconds. The position returned, as by `add`,
    /// is that of the delay in nanoseconds.
    pub(crate) fn add_delay(&mut self, code: &[Instruction]) -> Option<usize> {
        self.add_all(|values| {
            let delay_s = values.value_of(code)?;
            values.position(Source::Nanoseconds(delay_s))
        })
    }

    /// Adds values, or none of them if `add` returns None.
    fn add_all(&mut self, add: impl FnOnce(&mut Self) -> Option<u8>) -> Option<usize> {
        let known = self.sources.len();
        let found = add(self);
        if found.is_none() {
            self.sources.truncate(known);
        }
        found.map(|at| self.first + usize::from(at))
    }

    /// Returns the position of the value that a program, or a branch of it, leaves on the stack.
    fn value_of(&mut self, code: &[Instruction]) -> Option<u8> {
        let mut stack: Vec<u8> = Vec::new();
        let mut left = code;
        while let [instruction, rest @ ..] = left {
            left = rest;
            let source = match *instruction {
                Instruction::Push(word) => Source::Constant(word),
                Instruction::Load { arc, field } => Source::Field {
                    arc: u8::try_from(arc).ok()?,
                    field: u8::try_from(field).ok()?,
                },
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

    /// Returns the formulas and appends their values to those of other transitions. Of the appended
    /// values, only the constants are determined.
    pub(crate) fn formulas(self, values: &mut Vec<u64>) -> Formulas {
        debug_assert_eq!(
            self.first,
            values.len(),
            "the values are those given before"
        );
        values.extend(self.sources.iter().map(|source| match source {
            Source::Constant(word) => *word,
            Source::Field { .. } | Source::Result(_) | Source::Nanoseconds(_) => 0,
        }));
        let mut steps = Vec::with_capacity(self.sources.len());
        self.add_steps(None, &self.leaders(), &mut steps);
        Formulas {
            first: self.first,
            steps: steps.into(),
        }
    }

    /// For each value, its leader: the last value from which it follows if all constants are known.
    /// None for fields, constants, and results that follow from no single value.
    fn leaders(&self) -> Vec<Option<u8>> {
        let mut leaders: Vec<Option<u8>> = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let mut operands = source
                .operands()
                .iter()
                .copied()
                .filter(|&at| !matches!(self.sources[usize::from(at)], Source::Constant(_)));
            let first = operands.next();
            let leader = operands.fold(first, |found, operand| {
                last_common(found, Some(operand), &leaders)
            });
            leaders.push(leader);
        }
        leaders
    }

    /// Appends the steps that determine the values with a given leader. Each of them is followed by
    /// the steps whose values it leads. Operands are determined before the results of operations on
    /// them: in both orders, a value that leads an operand comes before the result.
    fn add_steps(&self, leader: Option<u8>, leaders: &[Option<u8>], steps: &mut Vec<Step>) {
        for ((to, &source), &found) in (0u8..).zip(&self.sources).zip(leaders) {
            if found != leader || matches!(source, Source::Constant(_)) {
                continue;
            }
            let at = steps.len();
            steps.push(Step::new(source, to));
            self.add_steps(Some(to), leaders, steps);
            steps[at].followers = (steps.len() - at - 1) as u8;
        }
    }
}

/// The last value that leads both of two values, directly or through other values, or is one of
/// them. The leader of a value comes before the value.
fn last_common(
    mut first: Option<u8>,
    mut second: Option<u8>,
    leaders: &[Option<u8>],
) -> Option<u8> {
    while first != second {
        let later = if first > second {
            &mut first
        } else {
            &mut second
        };
        *later = leaders[usize::from((*later)?)];
    }
    first
}

impl Formulas {
    /// Computes all values for one firing. `all` has the values of the formulas of all transitions,
    /// followed by `VALUES_MAX` words. `known` says whether those of this transition are the values
    /// of its last firing. `field_of` returns a field of the token that an input arc takes. Returns
    /// false if any operation fails; the values are then not known. This includes operations in the
    /// branch of an `if` that is not selected, since both branches are computed.
    #[inline(always)]
    pub(crate) fn compute(
        &self,
        all: &mut [u64],
        known: bool,
        field_of: impl Fn(u8, u8) -> u64,
    ) -> bool {
        let values = all.get_mut(self.first..);
        let Some(values) = values.and_then(<[u64]>::first_chunk_mut::<VALUES_MAX>) else {
            return false;
        };
        let used = if known { u8::MAX } else { 0 };
        let mut steps = self.steps.iter();
        while let Some(step) = steps.next() {
            let word = match step.code {
                Code::Field => field_of(step.operands[0], step.operands[1]),
                _ => match step.word(values) {
                    Some(word) => word,
                    None => return false,
                },
            };
            let value = &mut values[usize::from(step.to) % VALUES_MAX];
            let followers = usize::from(step.followers & used);
            if followers > 0 && *value == word {
                steps = steps.as_slice()[followers..].iter();
            }
            *value = word;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::function::Pure;
    use crate::expression::BinaryOperator;

    const FIRST: Instruction = Instruction::Load { arc: 0, field: 0 };
    const SECOND: Instruction = Instruction::Load { arc: 1, field: 2 };

    /// The values at the positions `at` for tokens whose fields are `first` and `second`; None if
    /// an operation fails.
    fn values_at(
        collector: Collector,
        at: &[usize],
        [first, second]: [i64; 2],
    ) -> Option<Vec<i64>> {
        let mut values = Vec::new();
        let formulas = collector.formulas(&mut values);
        values.resize(values.len() + VALUES_MAX, 0);
        let field_of = |arc, _| {
            if arc == 0 {
                first as u64
            } else {
                second as u64
            }
        };
        let is_computed = formulas.compute(&mut values, false, field_of);
        is_computed.then(|| at.iter().map(|&at| values[at] as i64).collect())
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
    fn values_that_did_not_change_stay() {
        use BinaryOperator::{Add, FloorDivide, Greater, Multiply};
        // 12 // max(first, 0) * 2 + second, and whether first > second.
        let code = [
            Instruction::Push(12),
            FIRST,
            Instruction::Push(0),
            Instruction::PureInteger(Pure::Max),
            Instruction::Integer(FloorDivide),
            Instruction::Push(2),
            Instruction::Integer(Multiply),
            SECOND,
            Instruction::Integer(Add),
        ];
        let mut collector = Collector::default();
        let sum = collector.add(&code).expect("the program is a formula");
        let compared = [FIRST, SECOND, Instruction::Integer(Greater)];
        let is_greater = collector.add(&compared).expect("a formula");
        let mut values = Vec::new();
        let formulas = collector.formulas(&mut values);
        values.resize(values.len() + VALUES_MAX, 0);
        // 12 // max(first, 0) * 2 is computed again if the maximum changes, or after a failure.
        assert!(formulas.steps.iter().any(|step| step.followers == 2));
        let mut known = false;
        for (fields, wanted) in [
            ([3, 9], Some([17, 0])),
            ([3, 2], Some([10, 1])),
            ([-1, 2], None),
            ([3, 2], Some([10, 1])),
            ([4, 4], Some([10, 0])),
            ([-2, 2], None),
            ([-1, 2], None),
            ([4, 5], Some([11, 0])),
        ] {
            let field_of = |arc: u8, _| fields[usize::from(arc)] as u64;
            known = formulas.compute(&mut values, known, field_of);
            let found = [sum, is_greater].map(|at| values[at] as i64);
            assert_eq!(known.then_some(found), wanted, "{fields:?}");
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
