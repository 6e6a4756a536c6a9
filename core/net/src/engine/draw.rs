//! Draws the tokens of random places when a transition fires.

use super::Engine;
use crate::error::Result;

impl Engine<'_> {
    /// Returns the tokens of a binding of an enabled transition. For each random place, one of the
    /// fitting tokens is drawn. If the transition searches for its bindings, an order of the tokens
    /// of each random place is drawn instead, and the binding is the first one by these orders.
    #[cold]
    pub(super) fn draw_tokens(&mut self, transition: usize, bound: &[u32]) -> Result<Vec<u32>> {
        let mut chosen = bound.to_vec();
        let (net, marking) = (self.net, &self.marking);
        let stream = &mut self.streams[transition];
        if net.transitions[transition].searches {
            let drawn = self
                .search
                .draw(net, marking, transition, stream, &mut chosen);
            drawn.map_err(|fault| self.fault(transition, ", guard", fault))?;
            return Ok(chosen);
        }
        let group = marking.first_ready(transition);
        let inputs = net.transitions[transition].inputs.iter();
        for (input, token) in inputs.zip(&mut chosen) {
            if input.random {
                let waiting = marking.bucket_of(input, group).array();
                *token = marking.nodes.token_of(waiting[stream.below(waiting.len())]);
            }
        }
        Ok(chosen)
    }
}
