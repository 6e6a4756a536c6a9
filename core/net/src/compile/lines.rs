//! Assigns the constant delays of a net to lines of the event list. A line is a first-in first-out
//! queue of the events with one delay.

use crate::compiled::Transition;
use crate::engine::event_list::{LINES_MAX, NO_LINE};
use crate::expression::Value;

/// Assigns constant delays to lines (first-in first-out queues) of the event list. Each of the
/// first LINES_MAX distinct constant delays above 0 of the net gets a separate line. Returns the
/// number of lines.
pub(super) fn assign(transitions: &mut [Transition]) -> usize {
    let constant_s = |delay: &Option<Value>| match delay {
        None => Some(0.0),
        Some(Value::Constant(word)) => Some(f64::from_bits(*word)),
        Some(_) => None,
    };
    let mut delays: Vec<u64> = Vec::new();
    for transition in transitions {
        let base_s = constant_s(&transition.delay);
        for output in &mut transition.outputs {
            let (Some(base_s), Some(more_s)) = (base_s, constant_s(&output.delay)) else {
                continue;
            };
            let delay = (base_s + more_s).to_bits();
            if delay == 0 {
                continue;
            }
            if !delays.contains(&delay) && delays.len() < LINES_MAX {
                delays.push(delay);
            }
            let line = delays.iter().position(|&one| one == delay);
            output.line = line.map_or(NO_LINE, |line| line as u8);
        }
    }
    delays.len()
}
