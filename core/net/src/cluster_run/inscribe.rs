//! Evaluates the inscriptions (expressions of the net) of a run over clusters. A cluster is a group
//! of transitions that share input places. Inscriptions state the fields of new tokens, delays,
//! locals and numbers of tokens.

use super::plan::{Delay, Word};
use super::{ClusterRun, Failed, HEADER};
use crate::clock::nanoseconds;
use crate::engine::Engine;
use crate::error::NetError;
use crate::expression::{exponential, Binding, Fault, Value};
use crate::stream::Stream;

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Stores the error of a firing, unless another error is stored already. `error` creates the
    /// error. Always returns `Failed`.
    #[cold]
    #[inline(never)]
    pub(super) fn fail<T>(
        &mut self,
        error: impl FnOnce(&mut Engine<'_>) -> NetError,
    ) -> Result<T, Failed> {
        self.engine.marking.now_ns = self.now_ns;
        let found = error(self.engine);
        self.error.get_or_insert_with(|| Box::new(found));
        Err(Failed)
    }

    /// Returns the binding that an inscription (an expression of the net) reads. `tokens` are the
    /// numbers of the tokens that the input arcs take.
    #[inline(always)]
    pub(super) fn binding<'a>(&'a self, tokens: &'a [u32]) -> Binding<'a> {
        let words = self.records.as_flattened();
        Binding {
            rows: words.get(HEADER..).unwrap_or_default(),
            stride: N,
            tokens,
            library: &self.engine.net.library,
            parameters: &self.engine.marking.parameters,
            depth: 0,
            now_ns: self.now_ns,
            lists: &self.engine.marking.lists,
        }
    }

    /// Evaluates an inscription of a transition with the tokens of a binding.
    #[inline(never)]
    fn word_of(&mut self, value: &Value, transition: usize, chosen: &[u32]) -> Result<u64, Fault> {
        let mut stream = self.states[transition].stream.clone();
        let word = value.of(self.binding(chosen), &mut stream);
        self.states[transition].stream = stream;
        word
    }

    /// Evaluates the value of a field of an output arc's token. `output` has the numbers of the
    /// output arc and of the field.
    #[inline(always)]
    pub(super) fn value(
        &mut self,
        word: &Word,
        transition: usize,
        output: (usize, u16),
        chosen: &[u32],
    ) -> Result<u64, Failed> {
        let value = match word {
            Word::Value(value) => value,
            Word::Formula(at, value) => match self.formula_value(*at) {
                Some(word) => return Ok(word),
                None => value.as_ref(),
            },
        };
        match value {
            Value::Constant(word) => Ok(*word),
            Value::Field { arc, field } => Ok(self.field(chosen[usize::from(*arc)], *field)),
            Value::Counted { arc, field, change } => {
                let old = self.field(chosen[usize::from(*arc)], *field) as i64;
                match old.checked_add(*change) {
                    Some(new) => Ok(new as u64),
                    None => self.computed_value(value, transition, output, chosen),
                }
            }
            _ => self.computed_value(value, transition, output, chosen),
        }
    }

    /// Evaluates the value of a field of an output arc's token. This is the general case, for the
    /// kinds of values that `value` does not evaluate inline.
    #[inline(never)]
    fn computed_value(
        &mut self,
        value: &Value,
        transition: usize,
        (arc, field): (usize, u16),
        chosen: &[u32],
    ) -> Result<u64, Failed> {
        match self.word_of(value, transition, chosen) {
            Ok(word) => Ok(word),
            Err(fault) => {
                self.fail(|engine| engine.no_field(transition, (arc, usize::from(field)), fault))
            }
        }
    }

    /// Evaluates a delay and returns it in nanoseconds. `arc` is the number of the output arc that
    /// states the delay; None for the delay of the transition.
    #[inline(always)]
    pub(super) fn delay_ns(
        &mut self,
        delay: &Delay,
        transition: usize,
        arc: Option<usize>,
        chosen: &[u32],
    ) -> Result<u64, Failed> {
        match delay {
            Delay::Constant(delay_ns) => Ok(*delay_ns),
            Delay::Exponential(mean_s) => self.exponential_delay_ns(*mean_s, transition, arc),
            Delay::Formula(at, value) => match self.formula_value(*at) {
                Some(delay_ns) => Ok(delay_ns),
                None => self.computed_delay_ns(value, (transition, arc), chosen),
            },
            Delay::Any(value) => self.computed_delay_ns(value, (transition, arc), chosen),
        }
    }

    /// Draws an exponential delay and returns it in nanoseconds.
    #[inline(always)]
    pub(super) fn exponential_delay_ns(
        &mut self,
        mean_s: f64,
        transition: usize,
        arc: Option<usize>,
    ) -> Result<u64, Failed> {
        let word = exponential(mean_s, &mut self.states[transition].stream);
        self.in_range(f64::from_bits(word), transition, arc)
    }

    /// Evaluates a delay and returns it in nanoseconds. This is the general case, for the kinds of
    /// delays that `delay_ns` does not evaluate inline.
    #[inline(never)]
    fn computed_delay_ns(
        &mut self,
        value: &Value,
        (transition, arc): (usize, Option<usize>),
        chosen: &[u32],
    ) -> Result<u64, Failed> {
        match self.word_of(value, transition, chosen) {
            Ok(word) => self.in_range(f64::from_bits(word), transition, arc),
            Err(fault) => self.fail(move |engine| {
                let words = engine.delay_words(transition, arc);
                engine.fault(transition, &words, fault)
            }),
        }
    }

    #[inline(always)]
    fn in_range(
        &mut self,
        delay_s: f64,
        transition: usize,
        arc: Option<usize>,
    ) -> Result<u64, Failed> {
        match nanoseconds(delay_s) {
            Some(delay_ns) => Ok(delay_ns),
            None => self.fail(move |engine| engine.no_delay(delay_s, transition, arc)),
        }
    }

    /// Evaluates a transition's locals (values computed once per firing) in order. A local may use
    /// the locals before it.
    #[inline(never)]
    pub(super) fn compute_locals(
        &mut self,
        transition: usize,
        chosen: &[u32],
    ) -> Result<(), Failed> {
        let net = self.engine.net;
        for (at, value) in net.transitions[transition].locals.iter().enumerate() {
            match self.word_of(value, transition, chosen) {
                Ok(word) => self.engine.marking.parameters[at] = word,
                Err(fault) => return self.fail(|engine| engine.no_local(transition, at, fault)),
            }
        }
        Ok(())
    }

    /// The number of tokens that an output arc with a computed count makes.
    pub(super) fn turns(
        &mut self,
        transition: usize,
        arc: usize,
        chosen: &[u32],
    ) -> Result<u64, Failed> {
        let net = self.engine.net;
        let Some(count) = &net.transitions[transition].outputs[arc].count else {
            return Ok(1);
        };
        let word = self.word_of(count, transition, chosen);
        self.engine.marking.now_ns = self.now_ns;
        match self.engine.turns_of(transition, arc, word) {
            Ok(turns) => Ok(turns),
            Err(error) => self.fail(|_| error),
        }
    }

    /// Passes a firing to the monitors that observe the transition.
    #[cold]
    pub(super) fn notify_monitors(
        &mut self,
        transition: usize,
        chosen: &[u32],
    ) -> Result<(), Failed> {
        self.is_observed = true;
        let mut monitors = std::mem::take(&mut self.engine.monitors);
        let mut unused = Stream::new(0, 0, 0);
        let observes = self.engine.observes;
        let mut failed = None;
        for &index in self.engine.watchers(transition) {
            let binding = self.binding(chosen);
            let monitor = &mut monitors[index as usize];
            let found = monitor.fired(transition, self.now_ns, binding, observes, &mut unused);
            if let Err(fault) = found {
                failed = Some((index, fault));
                break;
            }
        }
        self.engine.monitors = monitors;
        match failed {
            None => Ok(()),
            Some((index, fault)) => {
                self.fail(|engine| engine.fault(transition, &format!(", monitor {index}"), fault))
            }
        }
    }
}
