//! Decodes OTLP spans fast if their tags and lengths have one byte each, as most protobuf writers
//! encode them.

use std::borrow::Cow;

use super::picked::{Key, Picked, Scalar};
use crate::span::{Span, SpanStore};

/// The fields of a span that this crate uses, borrowed from the input.
#[derive(Default)]
pub struct PlainSpan<'a> {
    /// The trace id: sixteen bytes if it is valid.
    pub trace_id: &'a [u8],
    /// The span id: eight bytes if it is valid.
    pub span_id: &'a [u8],
    /// The parent's span id: eight bytes if it is valid, empty for a root.
    pub parent_id: &'a [u8],
    /// Name of the call, not yet checked for UTF-8.
    pub name: &'a [u8],
    /// Start, ns since 1970.
    pub start_ns: u64,
    /// End, ns since 1970.
    pub end_ns: u64,
    /// Whether the status is an error.
    pub status_error: bool,
    /// The attributes that this crate uses.
    pub picked: Picked<'a>,
}

/// Returns a protobuf tag of one byte: field number and wire type.
const fn tag(number: u8, wire: u8) -> u8 {
    number << 3 | wire
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BLOCK: u8 = 2;
const TRACE_ID: u8 = tag(1, BLOCK);
const SPAN_ID: u8 = tag(2, BLOCK);
const STATE: u8 = tag(3, BLOCK);
const PARENT_ID: u8 = tag(4, BLOCK);
const NAME: u8 = tag(5, BLOCK);
const KIND: u8 = tag(6, VARINT);
const START: u8 = tag(7, FIXED64);
const END: u8 = tag(8, FIXED64);
const ATTRIBUTE: u8 = tag(9, BLOCK);
const STATUS: u8 = tag(15, BLOCK);
/// The tag of the field `flags`, a varint of two bytes: field number 16 and wire type 5 (a value of
/// four bytes).
const FLAGS: [u8; 2] = [0x85, 0x01];

impl<'a> PlainSpan<'a> {
    /// Decodes the span in `bytes` into the fields of this value, which must be empty. None if the
    /// encoding is unusual or invalid; then the general parser must decode the span.
    #[inline(always)]
    pub fn fill(&mut self, bytes: &'a [u8]) -> Option<()> {
        let mut rest = self.in_usual_order(bytes)?;
        while let Some((&tag, behind)) = rest.split_first() {
            if matches!(tag, START | END) {
                let (time, behind) = time(behind)?;
                *(if tag == START {
                    &mut self.start_ns
                } else {
                    &mut self.end_ns
                }) = time;
                rest = behind;
                continue;
            }
            if tag == KIND {
                rest = short(behind)?.1;
                continue;
            }
            if tag == FLAGS[0] {
                let (flags, behind) = behind.split_first_chunk::<5>()?;
                if flags[0] != FLAGS[1] {
                    return None;
                }
                rest = behind;
                continue;
            }
            let (block, behind) = block(behind)?;
            match tag {
                TRACE_ID => self.trace_id = block,
                SPAN_ID => self.span_id = block,
                PARENT_ID => self.parent_id = block,
                NAME => self.name = block,
                ATTRIBUTE => attribute(block, &mut self.picked)?,
                STATE => self.picked.trace_state(block),
                STATUS if block.is_empty() => {}
                _ => return None,
            }
            rest = behind;
        }
        Some(())
    }

    /// Decodes the first fields of a span, as long as the field numbers increase. Returns the
    /// remaining bytes. Since the order is known, no branch on each tag is needed, which makes this
    /// faster.
    #[inline(always)]
    fn in_usual_order(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = bytes;
        if let Some(behind) = self.three_ids(bytes) {
            rest = behind;
        } else {
            take(&mut rest, TRACE_ID, block, &mut self.trace_id);
            take(&mut rest, SPAN_ID, block, &mut self.span_id);
            if rest.first() == Some(&STATE) {
                return Some(rest);
            }
            take(&mut rest, PARENT_ID, block, &mut self.parent_id);
        }
        take(&mut rest, NAME, block, &mut self.name);
        take(&mut rest, KIND, short, &mut 0);
        take(&mut rest, START, time, &mut self.start_ns);
        take(&mut rest, END, time, &mut self.end_ns);
        let mut found: &[u8] = &[];
        while take(&mut rest, ATTRIBUTE, block, &mut found) {
            attribute(found, &mut self.picked)?;
        }
        Some(rest)
    }

    /// Decodes the three ids at the start of a span: trace id, span id and parent id. A span that
    /// has a parent begins with them. Returns the bytes after the ids; None if the span does not
    /// begin with these three ids.
    #[inline(always)]
    fn three_ids(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (head, behind) = bytes.split_first_chunk::<38>()?;
        let marks = [head[0], head[1], head[18], head[19], head[28], head[29]];
        if marks != [TRACE_ID, 16, SPAN_ID, 8, PARENT_ID, 8] {
            return None;
        }
        self.trace_id = &head[2..18];
        self.span_id = &head[20..28];
        self.parent_id = &head[30..];
        Some(behind)
    }

    /// Adds the span to the store with this service and host. An invalid span is dropped, and the
    /// reason is counted.
    #[inline(always)]
    pub fn keep(&self, (service, host): (u32, u32), store: &mut SpanStore) {
        let (Ok(trace_id), Ok(span_id)) = (self.trace_id.try_into(), self.span_id.try_into())
        else {
            store.losses.bad_ids += 1;
            return;
        };
        let parent_id = match self.parent_id.try_into() {
            Ok(id) => u64::from_be_bytes(id),
            Err(_) => {
                store.losses.missing_parents += u64::from(!self.parent_id.is_empty());
                0
            }
        };
        let name = store.intern_bytes(self.name);
        let bytes = self.picked.bytes(store);
        let sampling = self.picked.sampling(store);
        store.push(Span {
            trace_id: u128::from_be_bytes(trace_id),
            span_id: u64::from_be_bytes(span_id),
            parent_id,
            name,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            service,
            host,
            thread: self.picked.thread(),
            bytes,
            status_error: self.status_error,
            wait: self.picked.wait(),
            sampling,
        });
    }
}

/// Decodes the next field if it is complete and its tag is `tag`. `read` decodes the value, which
/// is stored in `held`; `rest` is advanced past the field. Returns whether the field was decoded;
/// if not, nothing is changed.
#[inline(always)]
fn take<'a, T>(
    rest: &mut &'a [u8],
    tag: u8,
    read: impl Fn(&'a [u8]) -> Option<(T, &'a [u8])>,
    held: &mut T,
) -> bool {
    let here = rest.split_first().filter(|&(&first, _)| first == tag);
    let Some((value, behind)) = here.and_then(|(_, behind)| read(behind)) else {
        return false;
    };
    (*held, *rest) = (value, behind);
    true
}

/// Decodes a time of eight bytes, ns. Returns the time and the remaining bytes; None if there are
/// fewer bytes.
#[inline(always)]
fn time(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (time, behind) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*time), behind))
}

/// Decodes a varint below 128, which is one byte. Returns the value and the remaining bytes.
#[inline(always)]
fn short(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (&number, behind) = bytes.split_first()?;
    (number < 0x80).then_some((number, behind))
}

/// Decodes a block of bytes whose length is encoded before it in one byte. Returns the block and
/// the remaining bytes.
#[inline(always)]
fn block(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, behind) = short(bytes)?;
    behind.split_at_checked(length.into())
}

/// Decodes an attribute whose key is a text and whose value is an integer or a text. None for other
/// attributes.
#[inline(always)]
fn attribute<'a>(bytes: &'a [u8], picked: &mut Picked<'a>) -> Option<()> {
    let ([ATTRIBUTE_KEY], behind) = bytes.split_first_chunk::<1>()? else {
        return None;
    };
    let (key, behind) = block(behind)?;
    let ([ATTRIBUTE_VALUE], behind) = behind.split_first_chunk::<1>()? else {
        return None;
    };
    let (value, behind) = block(behind)?;
    if !behind.is_empty() {
        return None;
    }
    let (&kind, value) = value.split_first()?;
    let value = match kind {
        INTEGER => Scalar::Integer(integer(value)?),
        TEXT => {
            let (text, behind) = block(value)?;
            if !behind.is_empty() {
                return None;
            }
            Scalar::Text(Cow::Borrowed(text))
        }
        _ => return None,
    };
    if let Some(key) = Key::of(key) {
        picked.offer(key, value);
    }
    Some(())
}

const ATTRIBUTE_KEY: u8 = tag(1, BLOCK);
const ATTRIBUTE_VALUE: u8 = tag(2, BLOCK);
const TEXT: u8 = tag(1, BLOCK);
const INTEGER: u8 = tag(3, VARINT);

/// Decodes an integer whose varint takes all of `bytes`.
#[inline(always)]
fn integer(bytes: &[u8]) -> Option<i64> {
    if let &[only @ 0..0x80] = bytes {
        return Some(only.into());
    }
    if bytes.is_empty() || bytes.len() > 9 {
        return None;
    }
    let (mut value, last) = (0u64, bytes.len() - 1);
    for (place, &byte) in bytes.iter().enumerate() {
        if (byte < 0x80) != (place == last) {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
    }
    Some(value as i64)
}
