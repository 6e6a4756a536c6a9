//! Computes the inscriptions (expressions) of a transition's output arcs together, before the arcs'
//! tokens are made.

use super::plan::{Delay, Move, Shape, Word};
use super::{ClusterRun, HEADER};
use crate::expression::{Collector, Formulas, Value, VALUES_MAX};

impl Move {
    /// Replaces the inscriptions of the transition by formulas (expressions that are computed
    /// together), where possible. Does nothing if the shape of the transition is not `General`.
    pub(super) fn use_formulas(&mut self) {
        if !matches!(self.shape, Shape::General) {
            return;
        }
        let mut values = Collector::default();
        let mut is_used = self.delay.use_formula(&mut values);
        for put in &mut self.puts {
            is_used |= put.delay.use_formula(&mut values);
            for (_, word) in &mut put.written {
                is_used |= word.use_formula(&mut values);
            }
        }
        self.formulas = is_used.then(|| Box::new(values.formulas()));
    }
}

impl Delay {
    fn use_formula(&mut self, values: &mut Collector) -> bool {
        let Delay::Any(value) = self else {
            return false;
        };
        let Some(at) = position_of(value, values) else {
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
        let Some(at) = position_of(value, values) else {
            return false;
        };
        let value = std::mem::replace(value, Value::Constant(0));
        *self = Word::Formula(at, Box::new(value));
        true
    }
}

/// Returns the position of an inscription's value among the values that the formulas compute. None
/// if the inscription is not computed by a formula.
fn position_of(value: &Value, values: &mut Collector) -> Option<u8> {
    match value {
        Value::Code(code) => values.add(code),
        _ => None,
    }
}

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Computes the formulas of a transition for the tokens of a binding. If an operation fails,
    /// each inscription is evaluated separately for this firing. The failure is then an error only
    /// if an inscription needs the result of the operation.
    #[inline(always)]
    pub(super) fn compute_formulas(&mut self, formulas: &Formulas, chosen: &[u32]) {
        let records = &self.records;
        let field_of = |arc: u16, field: u16| {
            records[chosen[usize::from(arc)] as usize][HEADER + usize::from(field)]
        };
        self.is_computed = formulas.compute(&mut self.values, field_of);
    }

    /// Returns the value at the position `at` among the values of the firing transition's formulas.
    /// None if the formulas could not be computed for this firing.
    #[inline(always)]
    pub(super) fn formula_value(&self, at: u8) -> Option<u64> {
        let value = self.values[usize::from(at) % VALUES_MAX];
        self.is_computed.then_some(value)
    }
}
