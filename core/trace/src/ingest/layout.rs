//! Decodes protobuf spans fast by comparison with earlier spans. Most spans of a trace differ from
//! an earlier span only in values.
//!
//! The spans that one line of a program's code creates are encoded alike. Their tags, lengths, keys
//! and names are equal, and their ids, times and numbers have equal lengths. When such a span is
//! parsed in full for the first time, its layout is stored: the positions of its values. If a later
//! span equals this span in all bytes outside the values, its values are at the same positions, and
//! it need not be parsed.

use super::picked::Key;
use super::plain_span::PlainSpan;
use super::wire::{Message, Value};
use crate::span::{Span, SpanStore, TextId};

/// Number of bytes of a span that are compared at a time. Spans shorter than this are parsed in
/// full.
const PART_BYTES: usize = 32;
const PART_WORDS: usize = PART_BYTES / 8;

/// Layouts are learnt only for spans of fewer bytes than this. Longer spans are parsed in full.
const SPAN_BYTES_MAX: usize = 512;

/// The bytes of a span and some bytes after it in the file. The window is `PART_BYTES` longer than
/// the longest span for which layouts are learnt. A part that starts within the span therefore ends
/// within the window, which saves bounds checks.
pub type Window = [u8; SPAN_BYTES_MAX + PART_BYTES];

/// Maximum number of layouts with which a span is compared before the span is parsed in full. Only
/// the layouts of spans with an equal number of bytes are compared.
const TRIED_MAX: usize = 8;

/// Number of layouts that are learnt unconditionally. Afterwards, each further layout is learnt
/// only after another `FOUND_EACH` spans matched a known layout. In a file of dissimilar spans,
/// little time is therefore spent on learning.
const LEARNT_FREELY: usize = 256;
const FOUND_EACH: usize = 16;

/// All layouts learnt so far. A layout refers to texts by their index in the table of texts of one
/// store, so it is valid only for this store.
pub struct Layouts {
    of_length: Vec<Vec<Layout>>,
    learnt: usize,
    found: usize,
}

impl Layouts {
    /// An empty set of layouts.
    pub fn new() -> Self {
        Self {
            of_length: std::iter::repeat_with(Vec::new)
                .take(SPAN_BYTES_MAX)
                .collect(),
            learnt: 0,
            found: 0,
        }
    }

    /// Decodes a span by a layout learnt earlier and adds it to the store. Returns false if no
    /// layout matches.
    #[inline(always)]
    pub fn keep(
        &mut self,
        window: &Window,
        length: usize,
        place: (u32, u32),
        store: &mut SpanStore,
    ) -> bool {
        let Some(tried) = self.of_length.get(length) else {
            return false;
        };
        for layout in tried {
            if layout.fits(window) {
                store.push(layout.read(window, place));
                self.found += 1;
                return true;
            }
        }
        false
    }

    /// Learns the layout of a span that was parsed in full and added to the store.
    #[cold]
    pub fn learn(&mut self, message: Message<'_>, span: &PlainSpan<'_>, store: &SpanStore) {
        let length = message.bytes().len();
        let worth = self.learnt < LEARNT_FREELY + self.found / FOUND_EACH;
        if !worth || length >= SPAN_BYTES_MAX {
            return;
        }
        self.learnt += 1;
        // A truncated or merged name must be counted in the losses, which only a full parse does.
        // The layout of this span is therefore not learnt.
        let Some(name) = store.texts.recall(span.name) else {
            return;
        };
        let Some(layout) = Layout::of(message, span, name) else {
            return;
        };
        let tried = &mut self.of_length[length];
        if tried.len() < TRIED_MAX {
            tried.push(layout);
        } else {
            tried[self.learnt % TRIED_MAX] = layout;
        }
    }
}

/// A layout: the positions of the values in a span, and the bytes outside the values. All spans
/// that one line of a program's code creates have these bytes in common.
struct Layout {
    parts: Vec<Part>,
    trace_id: usize,
    span_id: usize,
    parent_id: Option<usize>,
    start: usize,
    end: usize,
    thread: Digits,
    size: Digits,
    /// A span with the values of those fields that are equal in all spans of the layout.
    alike: Span,
}

impl Layout {
    /// Determines the layout of a span that was parsed in full. None if some value is not at a
    /// fixed position.
    fn of(message: Message<'_>, span: &PlainSpan<'_>, name: TextId) -> Option<Self> {
        let mut values = Values::of(message);
        values.walk(message)?;
        Some(Self {
            parts: Part::all(message.bytes(), &values.mask)?,
            trace_id: values.trace_id?,
            span_id: values.span_id?,
            parent_id: values.parent_id,
            start: values.start?,
            end: values.end?,
            thread: values.thread,
            size: values.size.map_or(Digits::default(), |(_, digits)| digits),
            alike: Span {
                name,
                status_error: span.status_error,
                wait: span.picked.wait(),
                ..Span::default()
            },
        })
    }

    /// Whether a span of the layout's length has all the bytes that the layout requires.
    #[inline(always)]
    fn fits(&self, window: &Window) -> bool {
        self.parts.iter().all(|part| part.fits(window))
    }

    /// Decodes the values of a span that has this layout.
    #[inline(always)]
    fn read(&self, window: &Window, (service, host): (u32, u32)) -> Span {
        let parent_id = match self.parent_id {
            Some(at) => u64::from_be_bytes(chunk(window, at)),
            None => 0,
        };
        Span {
            trace_id: u128::from_be_bytes(chunk(window, self.trace_id)),
            span_id: u64::from_be_bytes(chunk(window, self.span_id)),
            parent_id,
            start_ns: u64::from_le_bytes(chunk(window, self.start)),
            end_ns: u64::from_le_bytes(chunk(window, self.end)),
            service,
            host,
            thread: self.thread.read(window),
            bytes: self.size.read(window),
            ..self.alike
        }
    }
}

/// Returns `SIZE` bytes of a window, which begin at the offset `at` in the span.
#[inline(always)]
fn chunk<const SIZE: usize>(window: &Window, at: usize) -> [u8; SIZE] {
    let at = at % SPAN_BYTES_MAX;
    std::array::from_fn(|place| window[at + place])
}

/// The position of a varint in a span. If the span lacks the varint, the position covers no bytes,
/// and the value is decoded as zero.
#[derive(Clone, Copy, Default)]
struct Digits {
    at: usize,
    /// A mask that selects, in each byte of the varint, the seven bits that belong to the number.
    mask: u64,
}

impl Digits {
    /// Maximum length in bytes of a varint that can be read as one machine word.
    const COUNT_MAX: usize = 8;

    fn new(at: usize, count: usize) -> Self {
        let all = u64::from_le_bytes([0x7f; Self::COUNT_MAX]);
        let mask = all >> (8 * (Self::COUNT_MAX - count));
        Self { at, mask }
    }

    /// Decodes a varint: in three steps, neighbouring groups of seven bits are joined.
    #[inline(always)]
    fn read(self, window: &Window) -> u64 {
        let digits = u64::from_le_bytes(chunk(window, self.at)) & self.mask;
        let pairs = digits & 0x007f_007f_007f_007f | (digits & 0x7f00_7f00_7f00_7f00) >> 1;
        let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
        fours & 0x0000_0000_0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4
    }
}

/// `PART_BYTES` consecutive bytes of the span from which a layout was learnt, with a mask. The mask
/// excludes the bits that belong to values. All other bits must be equal in every span of the
/// layout.
struct Part {
    at: usize,
    mask: [u64; PART_WORDS],
    fixed: [u64; PART_WORDS],
}

impl Part {
    /// Divides a span into parts. The last part ends at the span's end, so it overlaps the part
    /// before it. None if the span is shorter than one part.
    fn all(bytes: &[u8], mask: &[u8]) -> Option<Vec<Part>> {
        let last = bytes.len().checked_sub(PART_BYTES)?;
        let places = (0..bytes.len()).step_by(PART_BYTES);
        let part = |at: usize| {
            let word = |all: &[u8], place: usize| {
                let bytes = all[at + 8 * place..].first_chunk().expect("a whole part");
                u64::from_le_bytes(*bytes)
            };
            let mask = std::array::from_fn(|place| word(mask, place));
            let fixed = std::array::from_fn(|place| word(bytes, place) & mask[place]);
            Part { at, mask, fixed }
        };
        Some(places.map(|at| part(at.min(last))).collect())
    }

    #[inline(always)]
    fn fits(&self, window: &Window) -> bool {
        let (words, _) = window[self.at % SPAN_BYTES_MAX..][..PART_BYTES].as_chunks();
        let mut different = 0;
        for (place, word) in words.iter().enumerate() {
            different |= (u64::from_le_bytes(*word) & self.mask[place]) ^ self.fixed[place];
        }
        different == 0
    }
}

/// The positions of the values of a span, found by a full parse.
struct Values {
    /// Offset of the span in the file.
    begin: usize,
    /// A mask with one byte for each byte of the span. A bit of the mask is set if this bit of the
    /// span is equal in all spans of the layout.
    mask: Vec<u8>,
    trace_id: Option<usize>,
    span_id: Option<usize>,
    parent_id: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
    thread: Digits,
    /// The attribute that has the number of bytes that the call moved, as (rank of the attribute's
    /// key, position of its value). If a span has several such attributes, the field has the
    /// attribute with the lowest rank.
    size: Option<(u8, Digits)>,
}

impl Values {
    fn of(span: Message<'_>) -> Self {
        Self {
            begin: span.offset(),
            mask: vec![0xff; span.bytes().len()],
            trace_id: None,
            span_id: None,
            parent_id: None,
            start: None,
            end: None,
            thread: Digits::default(),
            size: None,
        }
    }

    /// Walks over the fields of a span, records the positions of the values, and masks the bytes of
    /// the values. The unmasked bytes are those that later spans are compared with. None if the
    /// span has no layout.
    fn walk(&mut self, mut span: Message<'_>) -> Option<()> {
        while let Some((field, value)) = span.field().ok()? {
            match (field, value) {
                (1, Value::Block(id)) => self.trace_id = Some(self.free(id)),
                (2, Value::Block(id)) => self.span_id = Some(self.free(id)),
                (4, Value::Block(id)) if id.is_empty() => self.parent_id = None,
                // A parent id with a wrong length is invalid. Every span with such an id must be
                // counted, which only a full parse does. A span with such an id therefore has no
                // layout.
                (4, Value::Block(id)) if id.bytes().len() != 8 => return None,
                (4, Value::Block(id)) => self.parent_id = Some(self.free(id)),
                (7, Value::Fixed64(_)) => self.start = Some(self.free_time(&span)),
                (8, Value::Fixed64(_)) => self.end = Some(self.free_time(&span)),
                (9, Value::Block(attribute)) => self.attribute(attribute)?,
                // The sampling weight is part of the trace state, and only a full parse reads it. A
                // span with a trace state therefore has no layout.
                (3, _) => return None,
                _ => {}
            }
        }
        Some(())
    }

    /// Records the position of an attribute's value if the value is a number that this crate uses.
    /// None if a span with this attribute has no layout.
    fn attribute(&mut self, mut attribute: Message<'_>) -> Option<()> {
        let Some((1, Value::Block(key))) = attribute.field().ok()? else {
            return None;
        };
        let Some((2, Value::Block(mut value))) = attribute.field().ok()? else {
            return None;
        };
        let first = *value.bytes().first()?;
        let (at, count) = (value.offset() + 1 - self.begin, value.bytes().len() - 1);
        let (_, found) = value.field().ok()??;
        if !attribute.is_empty() || !value.is_empty() {
            return None;
        }
        match (Key::of(key.bytes()), found) {
            (key, Value::Varint(_)) if first == INTEGER && count <= Digits::COUNT_MAX => {
                // Only the top bit of each byte of the varint is compared. These bits determine the
                // number of bytes, which is part of the layout.
                self.mask[at..at + count].fill(0x80);
                self.number(key, Digits::new(at, count))
            }
            (None, Value::Block(text)) => {
                self.free(text);
                Some(())
            }
            (None | Some(Key::Kind), _) => Some(()),
            _ => None,
        }
    }

    fn number(&mut self, key: Option<Key>, digits: Digits) -> Option<()> {
        match key {
            Some(Key::Size(rank)) if self.size.is_none_or(|(taken, _)| rank < taken) => {
                self.size = Some((rank, digits));
            }
            Some(Key::Thread) => self.thread = digits,
            Some(Key::Probability | Key::SamplerParameter) => return None,
            _ => {}
        }
        Some(())
    }

    /// Excludes the bytes of `block`, which is a value, from the comparison with other spans.
    /// Returns the offset of these bytes in the span.
    fn free(&mut self, block: Message<'_>) -> usize {
        let at = block.offset() - self.begin;
        self.mask[at..at + block.bytes().len()].fill(0);
        at
    }

    /// Excludes a time from the comparison with other spans. The time is the 8 bytes that `span`
    /// read last. Returns the offset of these bytes in the span.
    fn free_time(&mut self, span: &Message<'_>) -> usize {
        let at = span.offset() - self.begin - 8;
        self.mask[at..at + 8].fill(0);
        at
    }
}

/// Tag of field 3 of an attribute's value: an integer as a varint.
const INTEGER: u8 = 3 << 3;
