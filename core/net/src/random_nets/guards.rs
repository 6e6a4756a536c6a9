//! Guards of random nets: for nets with a key, and for transitions that draw tokens from a place.

use serde_json::Value as Json;

use crate::{compile, NetDefinition};

/// Guards of nets with a key, for transitions with two and with three input arcs.
pub(super) const KEYED_TWO: [&str; 5] = [
    "a.k == b.k",
    "a.k == b.k && a.n > 0",
    "a.k == b.k && b.n == 1",
    "a.k == b.k && b.n != 1 && a.h == red",
    "a.k == b.k && (even(a.n) || b.x < 1)",
];
pub(super) const KEYED_THREE: [&str; 3] = [
    "a.k == b.k && b.k == c.k",
    "a.k == b.k && b.k == c.k && c.n > 1",
    "a.k == b.k && b.k == c.k && a.n <= 1 && sum(b.q) < 4",
];

/// Guards for transitions with two and with three input arcs, of which one may draw its token; ""
/// for none. The reference engine draws from all tokens of a place, and tries the tokens in a drawn
/// order if there is a guard. The guards therefore compare different tokens in a way that no
/// look-up by equal fields ensures.
const DRAWN_TWO: [&str; 4] = ["", "a.n != b.n", "a.x + b.x > 0.5", "a.k + b.n < 4"];
const DRAWN_THREE: [&str; 5] = [
    "",
    "a.n != c.n",
    "a.x < b.x || b.n != c.n",
    "a.k == b.k && a.n + b.n + c.n > 2",
    "b.h == c.h && a.n <= b.n",
];

/// A guard for a transition with `arcs` input arcs that draws a token; None for no guard. `below`
/// draws a whole number below a bound.
pub(super) fn drawn(arcs: usize, below: impl FnOnce(usize) -> usize) -> Option<&'static str> {
    let guards: &[&str] = match arcs {
        1 => &[""],
        2 => &DRAWN_TWO,
        _ => &DRAWN_THREE,
    };
    let guard = guards[below(guards.len())];
    (!guard.is_empty()).then_some(guard)
}

/// Whether a transition of the net draws tokens and searches for its bindings.
pub(super) fn draws_in_a_search(net: &Json) -> bool {
    let read = NetDefinition::from_json(&net.to_string()).expect("a net as data");
    let net = compile(read).expect("the net was compiled before");
    let mut transitions = net.transitions.iter();
    transitions.any(|one| one.has_random && one.searches)
}
