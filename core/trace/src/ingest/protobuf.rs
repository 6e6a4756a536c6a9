//! OTLP protobuf: spans read straight from the wire, without building the messages they come in.
//!
//! The generated messages of `opentelemetry-proto` serve the writer and, in the tests, as the
//! oracle of this reader. They do not serve for reading because their decoder allocates for every
//! id, name and attribute (about ten times slower) and its errors carry no byte offset.

use std::borrow::Cow;

use super::picked::{Picked, Scalar};
use super::wire::{Message, Result, Value, WireError};
use crate::span::{Span, SpanStore};

/// How messages follow one another in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One message, or several written back to back, which protobuf reads as one.
    Bare,
    /// Each message behind its length as four big-endian bytes, as collectors write files.
    Fixed32,
    /// Each message behind its length as a varint.
    Delimited,
}

impl Framing {
    const ALL: [Framing; 3] = [Framing::Bare, Framing::Fixed32, Framing::Delimited];

    /// The framing under which the whole file fits, or at least its beginning; else nothing.
    pub fn recognise(bytes: &[u8]) -> Option<Framing> {
        let fits = |framing: &Framing| framing.fits(bytes).unwrap_or(false);
        let begins = |framing: &Framing| framing.begins(bytes).unwrap_or(false);
        Self::ALL
            .into_iter()
            .find(fits)
            .or_else(|| Self::ALL.into_iter().find(begins))
    }

    /// The next message of the file.
    fn next<'a>(self, file: &mut Message<'a>) -> Result<Message<'a>> {
        let length = match self {
            Framing::Bare => file.bytes().len() as u64,
            Framing::Delimited => file.varint()?,
            Framing::Fixed32 => {
                let header = file.block(4)?;
                header
                    .bytes()
                    .iter()
                    .fold(0, |length, &byte| length << 8 | u64::from(byte))
            }
        };
        file.block(length)
    }

    /// Whether every message holds resource spans only, two levels deep.
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

    /// Whether the first bytes are those of a message, so that the rest may be called damaged.
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
        // Field 1 as a message, holding a resource, scope spans or a schema address.
        Ok(tag == 0x0a && matches!(inner_tag, 0x0a | 0x12 | 0x1a))
    }
}

/// Reads every span of the file into the store.
pub fn read(bytes: &[u8], framing: Framing, store: &mut SpanStore) -> Result<()> {
    let mut file = Message::whole(bytes);
    while !file.is_empty() {
        let mut message = framing.next(&mut file)?;
        while let Some((number, value)) = message.field()? {
            if number == 1 {
                read_resource_spans(block(value, "resource_spans", &message)?, store)?;
            }
        }
    }
    Ok(())
}

fn block<'a>(value: Value<'a>, field: &str, after: &Message<'_>) -> Result<Message<'a>> {
    match value {
        Value::Block(message) => Ok(message),
        _ => Err(Box::new(WireError {
            offset: after.offset(),
            reason: format!("the field {field} before this is not length-delimited"),
        })),
    }
}

fn read_resource_spans(message: Message<'_>, store: &mut SpanStore) -> Result<()> {
    // The resource may stand after the spans that it describes, hence two walks.
    let mut picked = Picked::default();
    let mut walk = message;
    while let Some((number, value)) = walk.field()? {
        if number == 1 {
            let mut resource = block(value, "resource", &walk)?;
            while let Some((number, value)) = resource.field()? {
                if number == 1 {
                    read_attribute(block(value, "attributes", &resource)?, &mut picked)?;
                }
            }
        }
    }
    let place = picked.place(store);
    let mut walk = message;
    while let Some((number, value)) = walk.field()? {
        if number == 2 {
            let mut scope_spans = block(value, "scope_spans", &walk)?;
            while let Some((number, value)) = scope_spans.field()? {
                if number == 2 {
                    read_span(block(value, "spans", &scope_spans)?, place, store)?;
                }
            }
        }
    }
    Ok(())
}

fn read_span(mut message: Message<'_>, place: (u32, u32), store: &mut SpanStore) -> Result<()> {
    let mut span = Span {
        service: place.0,
        host: place.1,
        ..Span::default()
    };
    let mut picked = Picked::default();
    let (mut ids, mut parent): ([&[u8]; 2], &[u8]) = ([&[]; 2], &[]);
    let mut name: &[u8] = &[];
    while let Some((number, value)) = message.field()? {
        match (number, value) {
            (1, Value::Block(id)) => ids[0] = id.bytes(),
            (2, Value::Block(id)) => ids[1] = id.bytes(),
            (4, Value::Block(id)) => parent = id.bytes(),
            (5, Value::Block(text)) => name = text.bytes(),
            (7, Value::Fixed64(time)) => span.start_ns = time,
            (8, Value::Fixed64(time)) => span.end_ns = time,
            (9, Value::Block(attribute)) => read_attribute(attribute, &mut picked)?,
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
    let (Ok(trace_id), Ok(span_id)) = (ids[0].try_into(), ids[1].try_into()) else {
        store.losses.bad_ids += 1;
        return Ok(());
    };
    span.trace_id = u128::from_be_bytes(trace_id);
    span.span_id = u64::from_be_bytes(span_id);
    match parent.try_into() {
        Ok(id) => span.parent_id = u64::from_be_bytes(id),
        Err(_) if parent.is_empty() => {}
        Err(_) => store.losses.missing_parents += 1,
    }
    span.name = store.intern_bytes(name);
    span.bytes = picked.bytes(store);
    span.thread = picked.thread();
    span.wait = picked.wait();
    store.push(span);
    Ok(())
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
    if !Picked::wants(key) {
        return Ok(());
    }
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
