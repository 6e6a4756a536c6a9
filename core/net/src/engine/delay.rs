//! Evaluates the delays of a firing. Constant and exponential delays are computed directly, without
//! the stack machine of the inscription language.

use crate::clock::{nanoseconds, seconds, seconds_text};
use crate::engine::Engine;
use crate::error::{NetError, Result};
use crate::expression::{exponential, Draw, Value};

impl Engine<'_> {
    /// Evaluates a delay and returns it in nanoseconds. `arc` is the number of the output arc that
    /// states the delay; None means the delay of the transition. `chosen` are the tokens of the
    /// binding.
    #[inline(always)]
    pub(crate) fn delay(
        &mut self,
        delay: &Value,
        transition: usize,
        arc: Option<usize>,
        chosen: &[u32],
    ) -> Result<u64> {
        let delay_s = match delay {
            Value::Constant(word) => f64::from_bits(*word),
            Value::Draw {
                kind: Draw::Exponential,
                parameter,
            } if (0.0..f64::MAX).contains(parameter) => {
                f64::from_bits(exponential(*parameter, &mut self.streams[transition]))
            }
            _ => return self.any_delay(delay, transition, arc, chosen),
        };
        match nanoseconds(delay_s) {
            Some(delay_ns) => Ok(delay_ns),
            None => Err(self.no_delay(delay_s, transition, arc)),
        }
    }

    fn any_delay(
        &mut self,
        delay: &Value,
        transition: usize,
        arc: Option<usize>,
        chosen: &[u32],
    ) -> Result<u64> {
        let word = delay.of(self.marking.binding(chosen), &mut self.streams[transition]);
        let word = word
            .map_err(|fault| self.fault(transition, &self.delay_words(transition, arc), fault))?;
        let delay_s = f64::from_bits(word);
        nanoseconds(delay_s).ok_or_else(|| self.no_delay(delay_s, transition, arc))
    }

    #[cold]
    pub(crate) fn no_delay(&self, delay_s: f64, transition: usize, arc: Option<usize>) -> NetError {
        let time_s = seconds(self.marking.now_ns);
        let words = self.delay_words(transition, arc);
        let context = format!("{}{words}", self.net.context(transition));
        let found = seconds_text(delay_s);
        let reason = format!("the delay is {found} s; it must be between 0 and 9e9");
        NetError::run(format!("{context}, at {time_s} s"), reason)
    }

    /// The text that follows the name of the transition in an error message about a delay. `arc` is
    /// the output arc of the delay; None for the delay of the transition.
    pub(crate) fn delay_words(&self, transition: usize, arc: Option<usize>) -> String {
        match arc {
            Some(arc) => format!("{}, delay", self.arc_words(transition, arc)),
            None => ", delay".to_owned(),
        }
    }
}
