//! Computes the inscriptions (expressions) of a transition's output arcs together, before the arcs'
//! tokens are made.

use super::plan::{Delay, Move, Shape, Word};
use super::{ClusterRun, HEADER};
use crate::expression::{Collector, Formulas, Value};

impl Move {
    /// Replaces the inscriptions of the transition by formulas (expressions that are computed
    /// together), where possible. Does nothing if the shape of the transition is not `General`.
    /// `all` has the values of the formulas of other transitions; those of this one are appended.
    pub(super) fn use_formulas(&mut self, all: &mut Vec<u64>) {
        if !matches!(self.shape, Shape::General) {
            return;
        }
        let mut values = Collector::after(all);
        let mut is_used = self.delay.use_formula(&mut values);
        for put in &mut self.puts {
            is_used |= put.delay.use_formula(&mut values);
            for (_, word) in &mut put.written {
                is_used |= word.use_formula(&mut values);
            }
        }
        self.formulas = is_used.then(|| Box::new(values.formulas(all)));
    }
}

impl Delay {
    fn use_formula(&mut self, values: &mut Collector) -> bool {
        let Delay::Any(value) = self else {
            return false;
        };
        let Value::Code(code) = &**value else {
            return false;
        };
        let Some(at) = values.add_delay(code) else {
            return false;
        };
        let value = std::mem::replace(&mut **value, Value::Constant(0));
        *self = Delay::Formula(at, Box::new(value));
        true
    }
}

impl Word {
    fn use_formula(&mut self, values: &mut Collector) -> bool {
        let Word::Value(value) = self else {
            return false;
        };
        let Value::Code(code) = value else {
            return false;
        };
        let Some(at) = values.add(code) else {
            return false;
        };
        let value = std::mem::replace(value, Value::Constant(0));
        *self = Word::Formula(at, Box::new(value));
        true
    }
}

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Computes the formulas of a transition for the tokens of a binding. If an operation fails,
    /// each inscription is evaluated separately for this firing. The failure is then an error only
    /// if an inscription needs the result of the operation.
    #[inline(always)]
    pub(super) fn compute_formulas(
        &mut self,
        transition: usize,
        formulas: &Formulas,
        chosen: &[u32],
    ) {
        let records = &self.records;
        let field_of = |arc: u8, field: u8| {
            records[chosen[usize::from(arc)] as usize][HEADER + usize::from(field)]
        };
        let known = self.states[transition].has_values;
        let is_computed = formulas.compute(&mut self.values, known, field_of);
        self.states[transition].has_values = is_computed;
        self.is_computed = is_computed;
    }

    /// Returns the value of a formula of the firing transition, given by its position `at`. None
    /// if the formulas could not be computed for this firing.
    #[inline(always)]
    pub(super) fn formula_value(&self, at: usize) -> Option<u64> {
        self.is_computed.then(|| self.values[at])
    }
}
