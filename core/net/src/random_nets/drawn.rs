//! Random nets whose transitions draw tokens from a place and compare them with other tokens.

use serde_json::Value as Json;

use super::Maker;
use crate::{compile, NetDefinition};

/// Guards for transitions with two and with three input arcs, of which one may draw its token; ""
/// for none.
const DRAWN_TWO: [&str; 4] = ["", "a.n != b.n", "a.x + b.x > 0.5", "a.k + b.n < 4"];
const DRAWN_THREE: [&str; 5] = [
    "",
    "a.n != c.n",
    "a.x < b.x || b.n != c.n",
    "a.k == b.k && a.n + b.n + c.n > 2",
    "b.h == c.h && a.n <= b.n",
];

impl Maker {
    /// A guard for a transition that draws a token. The reference engine draws from all tokens of a
    /// place, and tries the tokens in a drawn order if there is a guard. The guard therefore
    /// compares different tokens in a way that no look-up by equal fields ensures.
    pub(super) fn drawn_guard(&mut self, arcs: usize) -> Option<&'static str> {
        let guard = match arcs {
            1 => "",
            2 => DRAWN_TWO[self.below(DRAWN_TWO.len())],
            _ => DRAWN_THREE[self.below(DRAWN_THREE.len())],
        };
        (!guard.is_empty()).then_some(guard)
    }
}

/// Whether a transition of the net draws tokens and searches for its bindings.
pub(super) fn draws_in_a_search(net: &Json) -> bool {
    let read = NetDefinition::from_json(&net.to_string()).expect("a net as data");
    let net = compile(read).expect("the net was compiled before");
    let mut transitions = net.transitions.iter();
    transitions.any(|one| one.has_random && one.searches)
}
