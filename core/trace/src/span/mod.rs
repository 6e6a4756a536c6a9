//! The type of a span, and the store of spans. Each distinct text, such as a name, is stored once,
//! and spans refer to it by index.

pub(crate) mod identity;
pub(crate) mod losses;
pub(crate) mod sampling;

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::span::losses::SpanLosses;

/// The number of a text in the table of texts of a store.
pub type TextId = u32;

/// Stands for "no node" where the index of a node is expected.
pub const NONE: u32 = u32::MAX;

/// The deepest level of a call tree. Deeper calls are moved up to this level. This limits the
/// length of a path and the depth of a recursion.
pub const DEPTH_MAX: u32 = 200;

/// Longest duration in quantiles and sums of squares: 2^48 ns, about three days. Longer durations
/// count there as this duration. Otherwise, the squares of forged durations would overflow the
/// sums. Sums, minima and maxima of durations are exact.
const QUANTILE_NS_MAX: u64 = 1 << 48;

/// Limits a duration in ns to the longest duration that quantiles and sums of squares distinguish.
pub fn cut_ns(duration_ns: u64) -> u64 {
    duration_ns.min(QUANTILE_NS_MAX)
}

/// Maximum length of a name in bytes. Longer names are truncated, so that one hostile span cannot
/// fill the memory.
pub const NAME_BYTES_MAX: usize = 1024;

/// Maximum number of distinct names. A trace can have more names, for example if a program puts a
/// number into every name. Names beyond the maximum are replaced by `OTHER_NAMES`.
const TEXTS_MAX: usize = 1 << 15;
const OTHER_NAMES: &str = "(other names)";

/// One timed call, as OpenTelemetry defines it; times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Span {
    /// The id of the span's trace; never zero in a store.
    pub trace_id: u128,
    /// The span's id within the trace; never zero in a store.
    pub span_id: u64,
    /// Span id of the parent; zero for a root.
    pub parent_id: u64,
    /// The name of the call.
    pub name: TextId,
    /// Start, ns since 1970.
    pub start_ns: u64,
    /// End, ns since 1970.
    pub end_ns: u64,
    /// The name of the service: resource attribute `service.name`.
    pub service: TextId,
    /// The name of the host: resource attribute `host.name`.
    pub host: TextId,
    /// Thread id: attribute `thread.id`; zero if unknown.
    pub thread: u64,
    /// Bytes moved by the call; zero if unknown.
    pub bytes: u64,
    /// Whether the call reported an error.
    pub status_error: bool,
    /// Whether the recorder classifies the call as a wait (attribute `dfslab.kind`).
    pub wait: bool,
    /// Index of the span's sampling weight in the table of texts; zero for a span without a
    /// recorded weight.
    pub sampling: u16,
}

impl Span {
    /// Nanoseconds from start to end; 0 for a span that ends before it starts.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// A table of distinct texts, numbered in the order of first occurrence. Number zero is the empty
/// text.
#[derive(Clone, Debug)]
pub struct Texts {
    ids: HashMap<Arc<str>, TextId>,
    texts: Vec<Arc<str>>,
    /// A cache of texts that were used last. The cache has a slot for each of a few hash values,
    /// with the index of the latest text with this hash value. The cache is effective because the
    /// names in a trace alternate between few texts.
    recent: [TextId; RECENT_SLOTS],
    /// Sampling weights in units of 2^-20. The first entry is the weight of spans without a
    /// recorded weight; the other entries are the recorded weights.
    weights: Vec<u64>,
}

/// Maximum number of distinct sampling weights in the table; recorders use few. Any further weight
/// is replaced by the last weight in the table.
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
    /// Returns the number of `text`, which is added to the table if it is new.
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

    /// Returns the number of a text if the text is in the cache. None for all other texts.
    #[inline]
    pub fn recall(&self, text: &[u8]) -> Option<TextId> {
        let id = self.recent[slot(text)];
        (self.texts[id as usize].as_bytes() == text).then_some(id)
    }

    /// Returns every text, in the order of the numbers.
    pub(crate) fn all(&self) -> Vec<String> {
        self.texts.iter().map(|text| text.to_string()).collect()
    }

    /// Returns the index of a sampling weight (in units of 2^-20), which is added if it is new.
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

    /// Sets the sampling weight, in units of 2^-20, of spans that do not record a weight.
    pub fn assume_weight(&mut self, weight: u64) {
        self.weights[0] = weight;
    }

    /// Returns the sampling weight with this index, in units of 2^-20. A recorded span represents
    /// as many calls as its sampling weight says.
    pub fn weight(&self, number: u16) -> u64 {
        self.weights[usize::from(number)]
    }

    /// Whether any span recorded a sampling weight.
    pub(crate) fn has_weights(&self) -> bool {
        self.weights.len() > 1
    }

    /// Number of distinct texts.
    fn count(&self) -> usize {
        self.texts.len()
    }

    /// Whether the text is in the table.
    fn knows(&self, text: &str) -> bool {
        self.ids.contains_key(text)
    }

    /// Returns the text with this number.
    pub fn text(&self, id: TextId) -> &str {
        &self.texts[id as usize]
    }
}

/// Returns the cache slot of a text. The slot is computed from the text's length and its first and
/// last bytes, in which the names of one program usually differ.
fn slot(text: &[u8]) -> usize {
    let end = |byte: Option<&u8>| usize::from(byte.copied().unwrap_or_default());
    (text.len() * 7 + end(text.first()) * 3 + end(text.last())) % RECENT_SLOTS
}

/// The spans of any number of files, with the table of their texts and the counts of damaged spans.
#[derive(Clone, Debug, Default)]
pub struct SpanStore {
    /// The spans, in the order of arrival.
    pub spans: Vec<Span>,
    /// The texts of names, services and hosts.
    pub texts: Texts,
    /// Numbers of spans that were repaired or dropped while reading.
    pub losses: SpanLosses,
}

impl SpanStore {
    /// Returns the number of a name or a host, which is added to the table if it is new. A text
    /// longer than NAME_BYTES_MAX is truncated and counted as a loss.
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

    /// Returns the number of a text that may contain invalid UTF-8. Invalid characters are replaced
    /// and counted as a loss.
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

    /// Adds a span to the store. A span with a zero id is dropped and counted as a loss.
    pub fn push(&mut self, span: Span) {
        if span.trace_id == 0 || span.span_id == 0 {
            self.losses.zero_ids += 1;
        } else {
            self.spans.push(span);
        }
    }
}
