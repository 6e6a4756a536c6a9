//! Samples complete traces uniformly at random from a stream of any length. The sample has at most
//! as many spans as a replay can process.

use std::collections::BTreeMap;

use crate::span::{Span, Texts};
use crate::tree::shape::mix;
use crate::tree::Forest;

/// Maximum number of spans that are replayed. Of larger traces, complete traces are sampled at
/// random.
pub(super) const SPANS_MAX: usize = 300_000;

/// A random sample of traces, with at most `SPANS_MAX` spans in all. The sample holds the traces
/// with the smallest pseudo-random numbers (bottom-k sampling). The pseudo-random number of a trace
/// depends only on its id. The sample is therefore the same for every order in which traces are
/// offered. Traces of more than `SPANS_MAX` spans are never in the sample.
#[derive(Default)]
pub struct TraceSample {
    traces: BTreeMap<Lot, Vec<Span>>,
    spans: usize,
    /// The smallest pseudo-random number of a trace for which there was no room. Traces with larger
    /// numbers are not in the sample, even if they are small enough for the room that is left:
    /// otherwise the sample would prefer small traces.
    refused: Option<Lot>,
}

/// The pseudo-random number of a trace, and the trace's id.
type Lot = (u64, u128);

impl TraceSample {
    /// Offers the spans of a complete trace to the sample. The trace is kept if it has at most
    /// `SPANS_MAX` spans and its pseudo-random number is small enough. Traces that are offered
    /// later may replace it.
    pub fn offer(&mut self, trace: &[Span]) {
        self.offer_within(trace, SPANS_MAX);
    }

    fn offer_within(&mut self, trace: &[Span], spans_max: usize) {
        let id = trace[0].trace_id;
        let lot = (mix(id as u64 ^ mix((id >> 64) as u64)), id);
        if trace.len() > spans_max || self.refused.is_some_and(|refused| lot >= refused) {
            return;
        }
        self.spans += trace.len();
        self.traces.entry(lot).or_default().extend_from_slice(trace);
        while self.spans > spans_max {
            let (last, dropped) = self.traces.pop_last().expect("spans are in traces");
            self.spans -= dropped.len();
            self.refused = Some(last);
        }
    }

    /// Reconstructs the call trees of the sample.
    pub fn forest(self, texts: &Texts) -> Forest {
        let mut spans = Vec::with_capacity(self.spans);
        for trace in self.traces.into_values() {
            spans.extend(trace);
        }
        Forest::of_traces(spans, texts.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPANS_MAX: usize = 100;

    /// Traces of 1 to 60 spans. Traces with odd numbers are small.
    fn traces() -> Vec<Vec<Span>> {
        let size = |id: usize| {
            if id % 2 == 1 {
                1 + id % 4
            } else {
                20 + id % 41
            }
        };
        let span = |id: usize| Span {
            trace_id: id as u128,
            ..Span::default()
        };
        (1..=200).map(|id| vec![span(id); size(id)]).collect()
    }

    fn sampled<'a>(offered: impl Iterator<Item = &'a Vec<Span>>) -> Vec<Lot> {
        let mut sample = TraceSample::default();
        offered.for_each(|trace| sample.offer_within(trace, SPANS_MAX));
        assert!(sample.spans <= SPANS_MAX);
        sample.traces.into_keys().collect()
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_in_which_traces_come() {
        let traces = traces();
        let forwards = sampled(traces.iter());
        assert_eq!(forwards, sampled(traces.iter().rev()));
        let by_size = |smallest_first: bool| {
            let mut sorted: Vec<_> = traces.iter().collect();
            sorted.sort_by_key(|one| {
                if smallest_first {
                    one.len()
                } else {
                    SPANS_MAX - one.len()
                }
            });
            sampled(sorted.into_iter())
        };
        assert_eq!(forwards, by_size(true));
        assert_eq!(forwards, by_size(false));
        assert!(forwards.len() > 1);
    }
}
