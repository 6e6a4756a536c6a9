//! Reads OTLP protobuf. Spans are decoded directly from the wire format, without building messages.
//!
//! The crate `opentelemetry-proto` has generated messages with a decoder. The writer uses them, and
//! tests compare this reader's results with them. This reader does not use the generated messages
//! for two reasons: their decoder is about ten times slower, because it allocates memory for every
//! id, name and attribute, and the decoder's errors have no byte offset.

use std::borrow::Cow;

use super::layout::Layouts;
use super::picked::{Key, Picked, Scalar};
use super::plain_span::PlainSpan;
use super::source::{Failure, Source};
use super::wire::{Message, Result, Value, WireError};
use crate::span::SpanStore;

/// How a file separates the messages in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The file is one message, or several concatenated messages, which protobuf reads as one
    /// message.
    Bare,
    /// Each message is preceded by its length as four big-endian bytes, as collectors write files.
    Fixed32,
    /// Each message is preceded by its length as a varint.
    Delimited,
}

impl Framing {
    const ALL: [Framing; 3] = [Framing::Bare, Framing::Fixed32, Framing::Delimited];

    /// Determines the framing of a file, which is how its messages are separated. `bytes` is the
    /// whole file or its beginning. Returns the first variant of `Framing` for which all of these
    /// bytes are valid. If there is none, returns the first variant for which at least the
    /// beginning of the bytes is valid. Returns None if there is no such variant.
    pub fn recognise(bytes: &[u8]) -> Option<Framing> {
        let fits = |framing: &Framing| framing.fits(bytes).unwrap_or(false);
        let begins = |framing: &Framing| framing.begins(bytes).unwrap_or(false);
        Self::ALL
            .into_iter()
            .find(fits)
            .or_else(|| Self::ALL.into_iter().find(begins))
    }

    /// Returns the next message of the file.
    fn next<'a>(self, file: &mut Message<'a>) -> Result<Message<'a>> {
        let length = match self {
            Framing::Bare => file.bytes().len() as u64,
            Framing::Delimited => file.varint()?,
            Framing::Fixed32 => big_endian(file.block(4)?.bytes()),
        };
        file.block(length)
    }

    /// Whether the file is valid under this framing. Every message must contain only resource
    /// spans. The check covers two levels of fields.
    fn fits(self, bytes: &[u8]) -> Result<bool> {
        let mut file = Message::whole(bytes);
        while !file.is_empty() {
            let mut message = self.next(&mut file)?;
            while let Some((number, value)) = message.field()? {
                let (1, Value::Block(mut resource_spans)) = (number, value) else {
                    return Ok(false);
                };
                while let Some((number, value)) = resource_spans.field()? {
                    if number <= 3 && !matches!(value, Value::Block(_)) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Whether the first bytes begin a valid message under this framing. In this case, the file is
    /// assumed to have this framing, and an invalid byte later in the file is reported as damage.
    fn begins(self, bytes: &[u8]) -> Result<bool> {
        let mut file = Message::whole(bytes);
        match self {
            Framing::Bare => {}
            Framing::Delimited => drop(file.varint()?),
            Framing::Fixed32 => drop(file.block(4)?),
        }
        let tag = file.varint()?;
        let _length = file.varint()?;
        let inner_tag = file.varint()?;
        // The message must begin with field 1 (resource spans). This field must begin with a
        // resource, scope spans or a schema URL.
        Ok(tag == 0x0a && matches!(inner_tag, 0x0a | 0x12 | 0x1a))
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |length, &byte| length << 8 | u64::from(byte))
}

/// The tag of the field that contains a span, in a message of scope spans: field number 2 and wire
/// type 2 (a block).
const SPANS: u8 = 0x12;

/// Maximum number of bytes of a field's tag and length together.
const HEAD_BYTES: usize = 20;

/// The type of a protobuf message in OTLP, from the outermost to the innermost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    Traces,
    ResourceSpans,
    ScopeSpans,
}

/// Reads one OTLP protobuf file. Between two spans, its state is the stack of the open messages.
pub struct ProtobufReader {
    framing: Framing,
    /// The open messages, each as (type, offset at which the message ends). A file without framing
    /// is a single message, which ends with the file.
    open: Vec<(Level, u64)>,
    place: Option<(u32, u32)>,
    first: usize,
    given_away: u64,
    layouts: Layouts,
}

impl ProtobufReader {
    /// Creates a reader that is at the start of a file.
    pub fn new(framing: Framing) -> Self {
        let (open, place) = (Vec::new(), None);
        Self {
            framing,
            open,
            place,
            first: 0,
            given_away: 0,
            layouts: Layouts::new(),
        }
    }

    /// Reads spans until the store holds `room` spans. Returns false at the end of the file.
    pub fn advance(
        &mut self,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> std::result::Result<bool, Failure> {
        self.first = store.spans.len();
        // Layouts refer to the table of texts of one store, and the caller may have changed the
        // store.
        self.layouts = Layouts::new();
        while store.spans.len() < room {
            source.fill(HEAD_BYTES)?;
            let Some(&(level, end)) = self.open.last() else {
                if source.rest().is_empty() {
                    return Ok(false);
                }
                self.open_message(source)?;
                continue;
            };
            if source.offset() == end || end == u64::MAX && source.rest().is_empty() {
                self.close(level, store);
                continue;
            }
            self.field(level, end, source, store, room)?;
        }
        if self.place.is_none() {
            self.given_away += (store.spans.len() - self.first) as u64;
        }
        Ok(true)
    }

    /// Number of bytes that the length prefixes of a truncated file announce beyond its end.
    pub fn missing_bytes(&self, source: &Source<'_>) -> u64 {
        let ends = self.open.iter().map(|&(_, end)| end);
        let announced = ends.filter(|&end| end != u64::MAX).max().unwrap_or(0);
        announced.saturating_sub(source.offset() + source.rest().len() as u64)
    }

    fn open_message(&mut self, source: &mut Source<'_>) -> std::result::Result<(), Failure> {
        let mut head = Message::whole(source.rest());
        let length = match self.framing {
            Framing::Bare => None,
            Framing::Delimited => Some(within_file(source, head.varint())?),
            Framing::Fixed32 => Some(big_endian(within_file(source, head.block(4))?.bytes())),
        };
        let used = head.offset();
        source.consume(used);
        let end = length.map_or(u64::MAX, |length| source.offset().saturating_add(length));
        self.open.push((Level::Traces, end));
        Ok(())
    }

    fn close(&mut self, level: Level, store: &SpanStore) {
        self.open.pop();
        if level == Level::ResourceSpans {
            self.place = None;
            self.given_away = 0;
            self.first = store.spans.len();
        }
    }

    /// Reads one field of the innermost open message. If the field is a span, reads all consecutive
    /// spans that are completely in memory.
    #[inline(always)]
    fn field(
        &mut self,
        level: Level,
        end: u64,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> std::result::Result<(), Failure> {
        let within = usize::try_from(end - source.offset()).unwrap_or(usize::MAX);
        let known = &source.rest()[..source.rest().len().min(within)];
        let mut head = Message::whole(known);
        let (key, length) = match head_of(&mut head) {
            Ok(found) => found,
            Err(error) if known.len() < within => return within_file(source, Err(error)),
            Err(error) => return at(source, Err(error)),
        };
        let Some(length) = length else {
            return self.number(level, key, within, source);
        };
        let used = head.offset();
        let left = (within - used) as u64;
        if length > left {
            let reason = format!("truncated: {length} bytes announced, {left} left");
            return Err(source.failure(used, reason));
        }
        let inner = match (level, key) {
            (Level::Traces, 0x0a) => Some(Level::ResourceSpans),
            (Level::ResourceSpans, 0x12) => Some(Level::ScopeSpans),
            _ => None,
        };
        if let Some(inner) = inner {
            source.consume(used);
            self.open.push((inner, source.offset() + length));
            return Ok(());
        }
        let length = length as usize;
        source.fill(used.saturating_add(length))?;
        let there = source.rest().len() - used;
        if there < length {
            let reason = format!("truncated: {length} bytes announced, {there} left");
            return Err(source.cut(used, reason));
        }
        if (level, key) == (Level::ScopeSpans, 0x12) {
            return self.spans(within, source, store, room);
        }
        if (level, key) == (Level::ResourceSpans, 0x0a) {
            let message = Message::whole(&source.rest()[used..used + length]);
            let resource = read_resource(message);
            let picked = match resource {
                Ok(picked) => picked,
                Err(error) => return Err(source.failure(used + error.offset, error.reason)),
            };
            self.learn(picked.place(store), store);
        }
        source.consume(used + length);
        Ok(())
    }

    /// Skips a field that is a number. Numbers outside spans are not used by this crate. A number
    /// where a message is expected is an error.
    fn number(
        &self,
        level: Level,
        key: u64,
        within: usize,
        source: &mut Source<'_>,
    ) -> std::result::Result<(), Failure> {
        let message = match (level, key >> 3) {
            (Level::Traces, 1) => Some("resource_spans"),
            (Level::ResourceSpans, 1) => Some("resource"),
            (Level::ResourceSpans, 2) => Some("scope_spans"),
            (Level::ScopeSpans, 2) => Some("spans"),
            _ => None,
        };
        if let Some(message) = message {
            let reason = format!("the field {message} is not length-delimited");
            return Err(source.failure(0, reason));
        }
        let known = source.rest().len().min(within);
        let mut field = Message::whole(&source.rest()[..known]);
        match field.field() {
            Err(error) if known < within => return within_file(source, Err(error)),
            outcome => at(source, outcome)?,
        };
        let used = field.offset();
        source.consume(used);
        Ok(())
    }

    /// Decodes the consecutive spans that are completely in memory, up to `room` spans in the
    /// store.
    #[inline(always)]
    fn spans(
        &mut self,
        within: usize,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> std::result::Result<(), Failure> {
        let place = self.place.unwrap_or_default();
        let rest = source.rest();
        let mut walk = Message::whole(&rest[..rest.len().min(within)]);
        let mut used = 0;
        while store.spans.len() < room {
            // The caller reads a span that is not completely in memory.
            let Some(span) = walk.block_of(SPANS) else {
                break;
            };
            let length = span.bytes().len();
            let known = match rest[span.offset()..].first_chunk() {
                Some(window) => self.layouts.keep(window, length, place, store),
                None => false,
            };
            if !known {
                at(source, read_span(span, place, &mut self.layouts, store))?;
            }
            used = walk.offset();
        }
        source.consume(used);
        Ok(())
    }

    /// Sets the service and host of a resource in the spans that precede it in the message.
    fn learn(&mut self, (service, host): (u32, u32), store: &mut SpanStore) {
        for span in &mut store.spans[self.first..] {
            (span.service, span.host) = (service, host);
        }
        store.losses.late_resources += std::mem::take(&mut self.given_away);
        self.place = Some((service, host));
    }
}

/// Decodes the key of a field and, if the field has one, its length.
fn head_of(head: &mut Message<'_>) -> Result<(u64, Option<u64>)> {
    let key = head.varint()?;
    let has_length = key & 7 == 2 && key >> 3 != 0;
    Ok((
        key,
        if has_length {
            Some(head.varint()?)
        } else {
            None
        },
    ))
}

/// Converts an error of the decoder to a `Failure`, which is either a truncation or damage. The
/// error is a truncation if it occurred within the last `HEAD_BYTES` bytes of the file.
fn within_file<T>(source: &Source<'_>, outcome: Result<T>) -> std::result::Result<T, Failure> {
    let few = source.rest().len() < HEAD_BYTES;
    match outcome {
        Err(error) if few => Err(source.cut(error.offset, error.reason)),
        outcome => at(source, outcome),
    }
}

fn at<T>(source: &Source<'_>, outcome: Result<T>) -> std::result::Result<T, Failure> {
    outcome.map_err(|error| source.failure(error.offset, error.reason))
}

fn read_resource(mut resource: Message<'_>) -> Result<Picked<'_>> {
    let mut picked = Picked::default();
    while let Some((number, value)) = resource.field()? {
        if let (1, Value::Block(attribute)) = (number, value) {
            read_attribute(attribute, &mut picked)?;
        }
    }
    Ok(picked)
}

fn read_span(
    message: Message<'_>,
    place: (u32, u32),
    layouts: &mut Layouts,
    store: &mut SpanStore,
) -> Result<()> {
    // The span is decoded in place, since returning it would copy it.
    let mut span = PlainSpan::default();
    if span.fill(message.bytes()).is_none() {
        span = read_fields(message)?;
    }
    let kept = store.spans.len();
    span.keep(place, store);
    if store.spans.len() > kept {
        layouts.learn(message, &span, store);
    }
    Ok(())
}

/// Decodes the fields of a span in any encoding that protobuf allows.
fn read_fields(mut message: Message<'_>) -> Result<PlainSpan<'_>> {
    let mut span = PlainSpan::default();
    while let Some((number, value)) = message.field()? {
        match (number, value) {
            (1, Value::Block(id)) => span.trace_id = id.bytes(),
            (2, Value::Block(id)) => span.span_id = id.bytes(),
            (3, Value::Block(state)) => span.picked.trace_state(state.bytes()),
            (4, Value::Block(id)) => span.parent_id = id.bytes(),
            (5, Value::Block(text)) => span.name = text.bytes(),
            (7, Value::Fixed64(time)) => span.start_ns = time,
            (8, Value::Fixed64(time)) => span.end_ns = time,
            (9, Value::Block(attribute)) => read_attribute(attribute, &mut span.picked)?,
            (15, Value::Block(status)) => span.status_error = is_error(status)?,
            (1 | 2 | 4 | 5 | 7 | 8 | 9 | 15, _) => {
                let reason = format!("field {number} of a span has the wrong wire type");
                return Err(Box::new(WireError {
                    offset: message.offset(),
                    reason,
                }));
            }
            _ => {}
        }
    }
    Ok(span)
}

fn read_attribute<'a>(mut message: Message<'a>, picked: &mut Picked<'a>) -> Result<()> {
    let mut key: &[u8] = &[];
    let mut any_value = None;
    while let Some((number, value)) = message.field()? {
        match (number, value) {
            (1, Value::Block(text)) => key = text.bytes(),
            (2, Value::Block(inner)) => any_value = Some(inner),
            _ => {}
        }
    }
    let Some(key) = Key::of(key) else {
        return Ok(());
    };
    let mut scalar = Scalar::Other;
    if let Some(mut any_value) = any_value {
        while let Some((number, value)) = any_value.field()? {
            scalar = match (number, value) {
                (1, Value::Block(text)) => Scalar::Text(Cow::Borrowed(text.bytes())),
                (3, Value::Varint(integer)) => Scalar::Integer(integer as i64),
                (4, Value::Fixed64(bits)) => Scalar::Double(f64::from_bits(bits)),
                _ => Scalar::Other,
            };
        }
    }
    picked.offer(key, scalar);
    Ok(())
}

fn is_error(mut status: Message<'_>) -> Result<bool> {
    let mut error = false;
    while let Some((number, value)) = status.field()? {
        if let (3, Value::Varint(code)) = (number, value) {
            error = code == 2;
        }
    }
    Ok(error)
}
