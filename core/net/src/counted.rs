//! What few firings need: values computed once for all outputs, and how many tokens an arc makes.

use crate::engine::Engine;
use crate::error::{NetError, Result};

/// More tokens than this on one arc of one firing are an error and not memory.
pub(crate) const TURNS_MAX: u64 = 100_000;

impl Engine<'_> {
    /// Evaluates a transition's locals, each for those that follow and for the outputs.
    #[inline(never)]
    pub(crate) fn compute_locals(&mut self, transition: usize, chosen: &[u32]) -> Result<()> {
        let net = self.net;
        for (at, value) in net.transitions[transition].locals.iter().enumerate() {
            let word = value.of(self.marking.binding(chosen), &mut self.streams[transition]);
            let word = word.map_err(|fault| {
                let name = &net.definition.transitions[transition].locals[at].name;
                self.fault(transition, &format!(", local {name}"), fault)
            })?;
            self.marking.parameters[at] = word;
        }
        Ok(())
    }

    /// How many tokens an output arc makes now.
    #[inline(never)]
    pub(crate) fn turns(
        &mut self,
        count: &crate::expression::Value,
        transition: usize,
        arc: usize,
        chosen: &[u32],
    ) -> Result<u64> {
        let word = count.of(self.marking.binding(chosen), &mut self.streams[transition]);
        let part = || format!("{}, count", self.arc_words(transition, arc));
        let word = word.map_err(|fault| self.fault(transition, &part(), fault))?;
        if word > TURNS_MAX {
            let context = format!("{}{}", self.net.context(transition), part());
            return Err(NetError::run(context, bad_count(word)));
        }
        let place = self.net.transitions[transition].outputs[arc].place;
        self.laws.make(place, word);
        Ok(word)
    }
}

/// Why a count is none.
pub(crate) fn bad_count(word: u64) -> String {
    format!(
        "the count is {}; it must be between 0 and {TURNS_MAX}",
        word as i64
    )
}
