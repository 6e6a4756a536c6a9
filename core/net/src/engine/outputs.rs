//! Makes the tokens of a firing. Tokens that become available at the same time form one event. This
//! module also computes a transition's locals (values computed once per firing) and the numbers of
//! tokens of output arcs.

use crate::compiled::Output;
use crate::engine::chain::Chain;
use crate::engine::Engine;
use crate::error::{NetError, Result};
use crate::expression::Fault;
use crate::marking::bucket::NONE;

/// Largest number of tokens that one output arc makes in one firing. A larger number is an error,
/// which is reported before memory is exhausted.
pub(crate) const TURNS_MAX: u64 = 100_000;

impl Engine<'_> {
    /// Makes one token for an output arc, or forwards a token of the binding `chosen`. A token with
    /// a delay is scheduled or linked to `chain`; a token without a delay arrives at once.
    #[inline(always)]
    pub(crate) fn put(
        &mut self,
        transition: usize,
        (arc, output): (usize, &Output),
        chosen: &[u32],
        chain: &mut Chain,
    ) -> Result<()> {
        let token = match output.forwards {
            Some(forwarded) => {
                let token = chosen[forwarded as usize];
                if !output.changed.is_empty() {
                    self.change(transition, (arc, output), token, chosen)?;
                }
                self.marking.forward(token, output.place);
                token
            }
            None => self.make(transition, (arc, output), chosen)?,
        };
        let mut delay_ns = chain.base_ns;
        if let Some(delay) = &output.delay {
            delay_ns += self.delay(delay, transition, Some(arc), chosen)?;
        }
        self.laws.serve(output.place, delay_ns);
        let time_ns = self.marking.now_ns.checked_add(delay_ns);
        let time_ns = time_ns.ok_or_else(|| self.no_more_time(transition))?;
        if time_ns == self.marking.now_ns {
            return self.arrive(token);
        }
        // Consecutive tokens that become available at the same time share one event.
        if chain.first != NONE && time_ns == chain.due_ns {
            self.marking.nodes.tokens[chain.last as usize].next = token;
        } else {
            if chain.first != NONE {
                self.schedule(chain);
            }
            (chain.first, chain.due_ns, chain.line) = (token, time_ns, output.line);
        }
        chain.last = token;
        Ok(())
    }

    /// Makes a token for an output arc and computes its field values. Returns the token's number.
    /// `chosen` are the tokens of the binding.
    #[inline(always)]
    fn make(
        &mut self,
        transition: usize,
        (arc, output): (usize, &Output),
        chosen: &[u32],
    ) -> Result<u32> {
        let token = self.marking.make(output.place);
        let start = token as usize * self.net.stride;
        for (field, value) in output.fields.iter().enumerate() {
            let word = value.of(self.marking.binding(chosen), &mut self.streams[transition]);
            let word = word.map_err(|fault| self.no_field(transition, (arc, field), fault))?;
            self.marking.rows[start + field] = word;
        }
        Ok(token)
    }

    /// Writes those fields of a forwarded token that the output arc changes.
    #[inline(always)]
    fn change(
        &mut self,
        transition: usize,
        (arc, output): (usize, &Output),
        token: u32,
        chosen: &[u32],
    ) -> Result<()> {
        let start = token as usize * self.net.stride;
        for (field, value) in &output.changed {
            let word = value.of(self.marking.binding(chosen), &mut self.streams[transition]);
            let field = usize::from(*field);
            let word = word.map_err(|fault| self.no_field(transition, (arc, field), fault))?;
            self.marking.rows[start + field] = word;
        }
        Ok(())
    }

    /// The error for a field of an output arc's token whose value cannot be computed.
    #[cold]
    pub(crate) fn no_field(
        &self,
        transition: usize,
        (arc, field): (usize, usize),
        fault: Fault,
    ) -> NetError {
        let place = self.net.transitions[transition].outputs[arc].place;
        let name = &self.net.places[place as usize].fields[field].0;
        let part = format!("{}, field {name}", self.arc_words(transition, arc));
        self.fault(transition, &part, fault)
    }

    #[inline(always)]
    pub(crate) fn schedule(&mut self, chain: &Chain) {
        self.events.push(chain.due_ns, chain.first, chain.line);
    }

    /// Evaluates a transition's locals (values computed once per firing) in order. A local may use
    /// the locals before it.
    #[inline(never)]
    pub(crate) fn compute_locals(&mut self, transition: usize, chosen: &[u32]) -> Result<()> {
        let net = self.net;
        for (at, value) in net.transitions[transition].locals.iter().enumerate() {
            let word = value.of(self.marking.binding(chosen), &mut self.streams[transition]);
            let word = word.map_err(|fault| self.no_local(transition, at, fault))?;
            self.marking.parameters[at] = word;
        }
        Ok(())
    }

    /// The error for a local whose value cannot be computed; `at` is its position among the locals.
    #[cold]
    pub(crate) fn no_local(&self, transition: usize, at: usize, fault: Fault) -> NetError {
        let name = &self.net.definition.transitions[transition].locals[at].name;
        self.fault(transition, &format!(", local {name}"), fault)
    }

    /// Makes the tokens of an output arc whose number of tokens is an expression.
    #[inline(never)]
    pub(crate) fn put_counted(
        &mut self,
        transition: usize,
        (arc, output): (usize, &Output),
        chosen: &[u32],
        chain: &mut Chain,
    ) -> Result<()> {
        let turn_at = self.net.transitions[transition].locals.len();
        for turn in 0..self.turns(transition, arc, chosen)? {
            self.marking.parameters[turn_at] = turn;
            self.put(transition, (arc, output), chosen, chain)?;
        }
        Ok(())
    }

    /// Returns the number of tokens that an output arc makes. If the arc has an expression, the
    /// number is its value, which is also recorded for the law of token conservation. Otherwise the
    /// number is 1.
    fn turns(&mut self, transition: usize, arc: usize, chosen: &[u32]) -> Result<u64> {
        let net = self.net;
        let Some(count) = &net.transitions[transition].outputs[arc].count else {
            return Ok(1);
        };
        let word = count.of(self.marking.binding(chosen), &mut self.streams[transition]);
        self.turns_of(transition, arc, word)
    }

    /// Checks the number of tokens that an output arc makes, and returns it. Also records it for
    /// the check that tokens are conserved. `word` is the number, or the reason why it could not be
    /// computed.
    pub(crate) fn turns_of(
        &mut self,
        transition: usize,
        arc: usize,
        word: std::result::Result<u64, Fault>,
    ) -> Result<u64> {
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

/// The error text for an invalid number of tokens of an output arc.
pub(crate) fn bad_count(word: u64) -> String {
    format!(
        "the count is {}; it must be between 0 and {TURNS_MAX}",
        word as i64
    )
}
