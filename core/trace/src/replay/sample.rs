//! Samples complete traces uniformly at random from a stream of any length. The sample has at most
//! as many spans as a replay can process.

use std::collections::BTreeMap;

use crate::span::{Span, Texts};
use crate::tree::shape::mix;
use crate::tree::Forest;

/// Maximum number of spans that are replayed. Of larger traces, complete traces are sampled at
/// random.
pub(super) const SPANS_MAX: usize = 300_000;

/// A random sample of traces: those with the smallest pseudo-random numbers (bottom-k sampling).
/// The pseudo-random number of a trace depends only on its id. The chance of a trace to be in the
/// sample is therefore independent of its size and of its time of arrival. The only exception:
/// traces of more than `SPANS_MAX` spans are never in the sample.
#[derive(Default)]
pub struct TraceSample {
    traces: BTreeMap<(u64, u128), Vec<Span>>,
    spans: usize,
}

impl TraceSample {
    /// Offers the spans of a complete trace to the sample. The trace is kept if it has at most
    /// `SPANS_MAX` spans and its pseudo-random number is small enough. Traces that are offered
    /// later may replace it.
    pub fn offer(&mut self, trace: &[Span]) {
        let id = trace[0].trace_id;
        let lot = (mix(id as u64 ^ mix((id >> 64) as u64)), id);
        let last = self.traces.last_key_value().map(|(last, _)| *last);
        let full = self.spans + trace.len() > SPANS_MAX;
        if trace.len() > SPANS_MAX || full && last.is_some_and(|last| lot > last) {
            return;
        }
        self.spans += trace.len();
        self.traces.entry(lot).or_default().extend_from_slice(trace);
        while self.spans > SPANS_MAX {
            let (_, dropped) = self.traces.pop_last().expect("spans are in traces");
            self.spans -= dropped.len();
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
