//! Laws that hold for any run, checked at the end of each.

use crate::engine::Engine;

impl Engine<'_> {
    /// The law of flow, exact for any run: what a place holds, with what is on its way, is what
    /// it began with and was given, less what was taken. Places with reset arcs are left out.
    pub(crate) fn assert_flow(&self) {
        let net = self.net;
        let start = net.places.iter().map(|place| place.initial.len() as i128);
        let mut balance: Vec<i128> = start.collect();
        for (transition, &fired) in net.transitions.iter().zip(&self.fired) {
            for input in &transition.inputs {
                balance[input.place as usize] -= i128::from(fired);
            }
            for output in &transition.outputs {
                balance[output.place as usize] += i128::from(fired);
            }
        }
        let totals = self.marking.totals();
        for (at, place) in net.places.iter().enumerate() {
            assert!(
                place.resets || balance[at] == totals[at] as i128,
                "place {}: {} tokens, by the law of flow {}",
                place.name,
                totals[at],
                balance[at]
            );
        }
    }
}
