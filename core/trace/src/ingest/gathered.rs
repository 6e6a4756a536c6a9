//! Spans on their way from a foreign format: identities and parents found where it has none.

use crate::identity::assign_trace_ids;
use crate::losses::Losses;
use crate::span::{Span, SpanStore};

/// Spans of one file, in a store of their own.
#[derive(Default)]
pub struct Gathered {
    store: SpanStore,
    /// What reading lost.
    pub losses: Losses,
    /// Spans numbered so far, by earlier batches.
    numbered: u64,
}

/// Spans without identities are nested and given them in batches of so many.
pub const GATHERED_MAX: usize = 400_000;

impl Gathered {
    /// Keeps a span under its texts.
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

    /// The number of a weight, here.
    pub fn intern_weight(&mut self, weight: u64) -> u16 {
        self.store.texts.intern_weight(weight)
    }

    /// How many spans wait here.
    pub fn spans(&self) -> usize {
        self.store.spans.len()
    }

    /// Numbers the spans and hangs each under the one around it on its thread.
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

    /// Numbers the spans, each a tree of its own.
    pub fn number(&mut self) {
        for (number, span) in (self.numbered + 1..).zip(&mut self.store.spans) {
            (span.span_id, span.parent_id) = (number, 0);
        }
        self.numbered += self.store.spans.len() as u64;
    }

    /// Moves everything into the store of all files, with trace identities if there were none.
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
                    told => store.texts.intern_weight(mine.texts.weight(told)),
                },
                ..*span
            };
            store.push(moved);
        }
    }
}
