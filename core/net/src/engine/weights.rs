//! Draws by weight which of the transitions that compete for a token fires.

use super::Engine;
use crate::compiled::Discipline;
use crate::marking::bucket::NONE;

impl Engine<'_> {
    /// Draws by weight the transition that fires. The candidates are `first`, which the firing rule
    /// selects, and the enabled transitions that compete with it for a token.
    pub(super) fn choose_by_weight(&mut self, first: usize) -> usize {
        let net = self.net;
        let weight = |transition: usize| net.transitions[transition].weight.unwrap_or(0.0);
        let mut candidates = vec![first];
        for &rival in &net.transitions[first].rivals {
            let rival = rival as usize;
            if self.position[rival] == NONE {
                continue;
            }
            if self.compete(first, rival) {
                candidates.push(rival);
            }
        }
        if candidates.len() == 1 {
            return first;
        }
        let total: f64 = candidates.iter().map(|&at| weight(at)).sum();
        let chance = self.streams.last_mut().expect("one stream is for choices");
        let mut left = chance.unit() * total;
        for &candidate in &candidates {
            left -= weight(candidate);
            if left < 0.0 {
                return candidate;
            }
        }
        *candidates.last().expect("the first is a candidate")
    }

    /// Whether two transitions compete: their bindings share a token, or both draw from the same
    /// random place.
    fn compete(&self, first: usize, rival: usize) -> bool {
        let net = self.net;
        let (mine, theirs) = (self.bound(first), self.bound(rival));
        let arcs = |transition: usize| net.transitions[transition].inputs.iter();
        arcs(first).zip(mine).any(|(arc, token)| {
            let random = net.views[arc.view as usize].discipline == Discipline::Random;
            arcs(rival)
                .zip(theirs)
                .any(|(other, taken)| taken == token || (random && other.place == arc.place))
        })
    }
}
