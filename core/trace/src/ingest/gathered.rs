//! Collects the spans of a file in the format of another tool. If the format has no span ids,
//! parents or trace ids, this module assigns them.

use crate::span::identity::assign_trace_ids;
use crate::span::losses::SpanLosses;
use crate::span::{Span, SpanStore};

/// Spans of one file, in a store that is separate from the store of all files.
#[derive(Default)]
pub struct Gathered {
    store: SpanStore,
    /// Counts of what was dropped or repaired while the file was read.
    pub losses: SpanLosses,
    /// Number of spans in earlier batches, which have already received ids.
    numbered: u64,
}

/// Maximum number of spans in a batch, for formats without trace ids. Parents and ids are
/// determined batch by batch, which bounds the memory needed.
pub const GATHERED_MAX: usize = 400_000;

impl Gathered {
    /// Adds a span with its name, service and host.
    pub fn add(&mut self, name: &str, service: &str, host: &str, span: Span) {
        let (name, service) = (self.store.intern(name), self.store.intern(service));
        let host = self.store.intern(host);
        self.store.spans.push(Span {
            name,
            service,
            host,
            ..span
        });
    }

    /// Stores a sampling weight and returns its index.
    pub fn intern_weight(&mut self, weight: u64) -> u16 {
        self.store.texts.intern_weight(weight)
    }

    /// Number of spans collected in the present batch.
    pub fn spans(&self) -> usize {
        self.store.spans.len()
    }

    /// Gives each span an id, and determines its parent. The parent is the shortest span on the
    /// same thread that encloses it.
    pub fn nest(&mut self) {
        let spans = &mut self.store.spans;
        spans.sort_by_key(|span| (span.thread, span.start_ns, u64::MAX - span.end_ns));
        let mut open: Vec<(u64, u64, u64)> = Vec::new();
        for (number, span) in (self.numbered + 1..).zip(spans.iter_mut()) {
            while let Some(&(thread, end_ns, _)) = open.last() {
                if thread == span.thread && end_ns > span.start_ns && end_ns >= span.end_ns {
                    break;
                }
                open.pop();
            }
            span.span_id = number;
            span.parent_id = open.last().map_or(0, |&(_, _, id)| id);
            open.push((span.thread, span.end_ns, number));
        }
        self.numbered += self.store.spans.len() as u64;
    }

    /// Gives each span an id and no parent, so that each span becomes a separate tree.
    pub fn number(&mut self) {
        for (number, span) in (self.numbered + 1..).zip(&mut self.store.spans) {
            (span.span_id, span.parent_id) = (number, 0);
        }
        self.numbered += self.store.spans.len() as u64;
    }

    /// Moves all spans to the end of `store`. If `without_traces` is true, the format has no trace
    /// ids; then each call tree first gets a trace id.
    pub fn move_into(&mut self, store: &mut SpanStore, without_traces: bool) {
        if without_traces {
            self.store.spans.retain(|span| span.span_id != 0);
            assign_trace_ids(&mut self.store);
        }
        let mine = std::mem::take(&mut self.store);
        store.losses.merge(&std::mem::take(&mut self.losses));
        store.losses.merge(&mine.losses);
        for span in &mine.spans {
            let moved = Span {
                name: store.texts.intern(mine.texts.text(span.name)),
                service: store.texts.intern(mine.texts.text(span.service)),
                host: store.texts.intern(mine.texts.text(span.host)),
                sampling: match span.sampling {
                    0 => 0,
                    reported => store.texts.intern_weight(mine.texts.weight(reported)),
                },
                ..*span
            };
            store.push(moved);
        }
    }
}
