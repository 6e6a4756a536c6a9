//! Spans, and the store that they share: rows with interned text.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::losses::Losses;
use crate::sampling;

/// An index into a store's table of texts.
pub type TextId = u32;

/// The index that stands for no node.
pub const NONE: u32 = u32::MAX;

/// The deepest level that keeps its own place; deeper calls are re-hung there, so that neither
/// a path nor a reader that recurses can grow without bound.
pub const DEPTH_MAX: u32 = 200;

/// Quantiles know no longer durations than this (three days): the histogram also sums squares,
/// which forged times would overflow. Sums and extremes are exact for every duration.
const QUANTILE_NS_MAX: u64 = 1 << 48;

/// A duration clamped for quantiles and squares.
pub fn cut_ns(duration_ns: u64) -> u64 {
    duration_ns.min(QUANTILE_NS_MAX)
}

/// Names longer than this are truncated, so that one hostile span cannot fill the memory.
pub const NAME_BYTES_MAX: usize = 1024;

/// Maximum number of distinct names; a program that puts a number into every name exceeds it.
const TEXTS_MAX: usize = 1 << 15;
const OTHER_NAMES: &str = "(other names)";

/// One timed call, as OpenTelemetry defines it; times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Span {
    /// The id of the span's trace; never zero in a store.
    pub trace_id: u128,
    /// The span's id within the trace; never zero in a store.
    pub span_id: u64,
    /// The parent's span id, or zero.
    pub parent_id: u64,
    /// The name of the call.
    pub name: TextId,
    /// Start, ns since 1970.
    pub start_ns: u64,
    /// End, ns since 1970.
    pub end_ns: u64,
    /// Resource attribute `service.name`.
    pub service: TextId,
    /// Resource attribute `host.name`.
    pub host: TextId,
    /// Attribute `thread.id`, or zero.
    pub thread: u64,
    /// Bytes moved by the call, or zero.
    pub bytes: u64,
    /// Whether the call reported an error.
    pub status_error: bool,
    /// Whether the recorder classifies the call as a wait (attribute `dfslab.kind`).
    pub wait: bool,
    /// Index of the span's sampling weight in the table of texts; zero if unknown.
    pub sampling: u16,
}

impl Span {
    /// Nanoseconds from start to end; 0 for a span that ends before it starts.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// Interned texts, numbered in the order of first occurrence; zero is the empty text.
#[derive(Clone, Debug)]
pub struct Texts {
    ids: HashMap<Arc<str>, TextId>,
    texts: Vec<Arc<str>>,
    /// The latest text of each slot, since a trace alternates between few names.
    recent: [TextId; RECENT_SLOTS],
    /// Sampling weights: first the default for spans without one, then those that occurred.
    weights: Vec<u64>,
}

/// Maximum number of weights; recorders have few rates. Further ones are taken for the last.
const WEIGHTS_MAX: usize = 1 << 12;

const RECENT_SLOTS: usize = 64;

impl Default for Texts {
    fn default() -> Self {
        let empty: Arc<str> = Arc::from("");
        let ids = HashMap::from([(empty.clone(), 0)]);
        Self {
            ids,
            texts: vec![empty],
            recent: [0; RECENT_SLOTS],
            weights: vec![sampling::ONE],
        }
    }
}

impl Texts {
    /// The id of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> TextId {
        if let Some(id) = self.recall(text.as_bytes()) {
            return id;
        }
        let id = match self.ids.get(text) {
            Some(&id) => id,
            None => {
                let id = TextId::try_from(self.texts.len()).expect("fewer than 2^32 texts");
                let shared: Arc<str> = Arc::from(text);
                self.texts.push(shared.clone());
                self.ids.insert(shared, id);
                id
            }
        };
        self.recent[slot(text.as_bytes())] = id;
        id
    }

    /// The id of a recently used text; None for all others.
    #[inline]
    pub fn recall(&self, text: &[u8]) -> Option<TextId> {
        let id = self.recent[slot(text)];
        (self.texts[id as usize].as_bytes() == text).then_some(id)
    }

    /// Every text in the order of its number.
    pub(crate) fn all(&self) -> Vec<String> {
        self.texts.iter().map(|text| text.to_string()).collect()
    }

    /// The index of a weight.
    pub fn intern_weight(&mut self, weight: u64) -> u16 {
        let known = self
            .weights
            .iter()
            .skip(1)
            .position(|&known| known == weight);
        let place = known.map_or(self.weights.len(), |place| place + 1);
        if place == self.weights.len() && place < WEIGHTS_MAX {
            self.weights.push(weight);
        }
        place.min(WEIGHTS_MAX - 1) as u16
    }

    /// Sets the weight of spans without one, in units of 2^-20.
    pub fn assume_weight(&mut self, weight: u64) {
        self.weights[0] = weight;
    }

    /// The weight with this index, in units of 2^-20: how many calls a span represents.
    pub fn weight(&self, number: u16) -> u64 {
        self.weights[usize::from(number)]
    }

    /// Whether any span records its weight.
    pub(crate) fn has_weights(&self) -> bool {
        self.weights.len() > 1
    }

    /// Number of texts.
    fn count(&self) -> usize {
        self.texts.len()
    }

    /// Whether the text is interned.
    fn knows(&self, text: &str) -> bool {
        self.ids.contains_key(text)
    }

    /// The text with this number.
    pub fn text(&self, id: TextId) -> &str {
        &self.texts[id as usize]
    }
}

/// A slot computed from the text's length and ends, in which the names of one program usually
/// differ.
fn slot(text: &[u8]) -> usize {
    let end = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or_default());
    (text.len() * 7 + end(text.first()) * 3 + end(text.last())) % RECENT_SLOTS
}

/// Spans of any number of files, with their interned texts and the damage found in them.
#[derive(Clone, Debug, Default)]
pub struct SpanStore {
    /// The spans, in the order of arrival.
    pub spans: Vec<Span>,
    /// Names, services and hosts.
    pub texts: Texts,
    /// Damage met while reading.
    pub losses: Losses,
}

impl SpanStore {
    /// Interns a name or a host, truncated to the maximum length.
    pub fn intern(&mut self, text: &str) -> TextId {
        if self.texts.count() >= TEXTS_MAX && !self.texts.knows(text) {
            self.losses.merged_names += 1;
            return self.texts.intern(OTHER_NAMES);
        }
        if text.len() <= NAME_BYTES_MAX {
            return self.texts.intern(text);
        }
        self.losses.long_names += 1;
        let end = (0..=NAME_BYTES_MAX)
            .rev()
            .find(|&end| text.is_char_boundary(end))
            .unwrap_or(0);
        self.texts.intern(&text[..end])
    }

    /// Interns text that should be UTF-8 but may not be.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> TextId {
        if let Some(id) = self.texts.recall(bytes) {
            return id;
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.intern(text),
            Err(_) => {
                self.losses.bad_text += 1;
                let text = String::from_utf8_lossy(bytes).into_owned();
                self.intern(&text)
            }
        }
    }

    /// Adds a span; a span with a zero id is counted as a loss and dropped.
    pub fn push(&mut self, span: Span) {
        if span.trace_id == 0 || span.span_id == 0 {
            self.losses.zero_ids += 1;
        } else {
            self.spans.push(span);
        }
    }
}
