//! A uniform random sample of complete traces from a stream of any length, limited by replay size.

use std::collections::BTreeMap;

use super::SPANS_MAX;
use crate::shape::mix;
use crate::span::{Span, Texts};
use crate::tree::Forest;

/// The traces with the smallest random numbers (bottom-k sampling). Neither the order of arrival
/// nor the size of a trace affects its probability of being first.
#[derive(Default)]
pub struct Sample {
    traces: BTreeMap<(u64, u128), Vec<Span>>,
    spans: usize,
}

impl Sample {
    /// Offers a trace; it is kept if its random number is small enough and may be dropped later.
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

    /// The call trees of the sample.
    pub fn forest(self, texts: &Texts) -> Forest {
        let mut spans = Vec::with_capacity(self.spans);
        for trace in self.traces.into_values() {
            spans.extend(trace);
        }
        Forest::of_traces(spans, texts.clone())
    }
}
