//! OTLP JSON: one document or many, with ids in hexadecimal and long integers as text or numbers.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::json_values::{IsError, Nanoseconds, Text};
use super::picked::Picked;
use crate::error::Place;
use crate::span::{Span, SpanStore};

/// The text behind the mark that some editors put first.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Reads every document of the file into the store.
pub fn read(bytes: &[u8], store: &mut SpanStore) -> Result<(), (Place, String)> {
    // Checking the whole file at once is far cheaper than checking each of its texts.
    let text = std::str::from_utf8(without_byte_order_mark(bytes)).map_err(|error| {
        let mark = bytes.len() - without_byte_order_mark(bytes).len();
        (
            Place::Byte((mark + error.valid_up_to()) as u64),
            "not UTF-8".to_owned(),
        )
    })?;
    let mut documents = serde_json::Deserializer::from_str(text);
    loop {
        let mut began = false;
        match (Document {
            store,
            began: &mut began,
        })
        .deserialize(&mut documents)
        {
            Ok(()) => {}
            // An end before the next document has begun is the end of a sound file.
            Err(error) if error.is_eof() && !began => return Ok(()),
            Err(error) => {
                let place = Place::Line(error.line(), error.column());
                return Err((place, without_place(&error.to_string()).to_owned()));
            }
        }
    }
}

/// The message without " at line 1 column 2", which the place says already.
fn without_place(message: &str) -> &str {
    message
        .rfind(" at line ")
        .map_or(message, |end| &message[..end])
}

/// What the next object is, from the outside in.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Document,
    ResourceSpans,
    ScopeSpans,
    Span,
}

/// One document of a file, and whether it has begun.
struct Document<'s> {
    store: &'s mut SpanStore,
    began: &'s mut bool,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an OTLP trace document")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        *self.began = true;
        Reader {
            store: self.store,
            level: Level::Document,
        }
        .visit_map(map)
    }
}

/// Moves spans into the store while they are parsed; a list stands for each of its elements.
struct Reader<'s> {
    store: &'s mut SpanStore,
    level: Level,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.level {
            Level::Document => "an OTLP trace document",
            Level::ResourceSpans => "a list of resourceSpans",
            Level::ScopeSpans => "a list of scopeSpans",
            Level::Span => "a list of spans",
        })
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Reader { store, level } = self;
        while list
            .next_element_seed(Reader {
                store: &mut *store,
                level,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Reader { store, level } = self;
        if level == Level::Span {
            let span = SpanDocument::deserialize(MapAccessDeserializer::new(map))?;
            keep_span(&span, store);
            return Ok(());
        }
        let first = store.spans.len();
        let mut resource = Resource::default();
        let mut is_trace = level != Level::Document;
        while let Some(key) = map.next_key::<Text>()? {
            let inner = match (level, &*key.0) {
                (Level::Document, "resourceSpans" | "resource_spans") => Level::ResourceSpans,
                (Level::ResourceSpans, "scopeSpans" | "scope_spans") => Level::ScopeSpans,
                (Level::ScopeSpans, "spans") => Level::Span,
                (Level::ResourceSpans, "resource") => {
                    resource = map.next_value::<Option<Resource>>()?.unwrap_or_default();
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            is_trace = true;
            map.next_value_seed(Reader {
                store: &mut *store,
                level: inner,
            })?;
        }
        if level == Level::ResourceSpans {
            // The resource may stand behind its spans, so they learn of it last.
            let (service, host) = resource.attributes.place(store);
            for span in &mut store.spans[first..] {
                (span.service, span.host) = (service, host);
            }
        }
        if is_trace {
            Ok(())
        } else {
            Err(de::Error::custom(
                "not an OTLP trace document: it has no key resourceSpans",
            ))
        }
    }
}

fn keep_span(span: &SpanDocument<'_>, store: &mut SpanStore) {
    let trace_id = from_hexadecimal(&span.trace_id.0, 32);
    let span_id = from_hexadecimal(&span.span_id.0, 16);
    let (Some(trace_id), Some(span_id)) = (trace_id, span_id) else {
        store.losses.bad_ids += 1;
        return;
    };
    let parent = &span.parent_span_id.0;
    let parent_id = from_hexadecimal(parent, 16).unwrap_or_else(|| {
        store.losses.missing_parents += u64::from(!parent.is_empty());
        0
    });
    let kept = Span {
        trace_id,
        span_id: span_id as u64,
        parent_id: parent_id as u64,
        name: store.intern(&span.name.0),
        start_ns: span.start_time_unix_nano.0,
        end_ns: span.end_time_unix_nano.0,
        thread: span.attributes.thread(),
        wait: span.attributes.wait(),
        bytes: span.attributes.bytes(store),
        status_error: span.status.code.0,
        ..Span::default()
    };
    store.push(kept);
}

/// An id of exactly `digits` hexadecimal digits.
fn from_hexadecimal(text: &str, digits: usize) -> Option<u128> {
    if text.len() != digits {
        return None;
    }
    // Whole halves of 16 digits fit a machine word, which is what makes this cheap.
    let (high, low) = text.as_bytes().split_at(digits - 16);
    let word = |half: &[u8]| {
        half.iter().try_fold(0u64, |value, &byte| {
            let digit = (byte as char).to_digit(16)?;
            Some(value << 4 | u64::from(digit))
        })
    };
    Some(u128::from(word(high)?) << 64 | u128::from(word(low)?))
}

#[derive(Default, serde::Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default)]
    attributes: Picked<'a>,
}

#[derive(serde::Deserialize)]
struct SpanDocument<'a> {
    #[serde(borrow, default, rename = "traceId", alias = "trace_id")]
    trace_id: Text<'a>,
    #[serde(borrow, default, rename = "spanId", alias = "span_id")]
    span_id: Text<'a>,
    #[serde(borrow, default, rename = "parentSpanId", alias = "parent_span_id")]
    parent_span_id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(default, rename = "startTimeUnixNano", alias = "start_time_unix_nano")]
    start_time_unix_nano: Nanoseconds,
    #[serde(default, rename = "endTimeUnixNano", alias = "end_time_unix_nano")]
    end_time_unix_nano: Nanoseconds,
    #[serde(borrow, default)]
    attributes: Picked<'a>,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

#[derive(Default, serde::Deserialize)]
struct Status {
    #[serde(default)]
    code: IsError,
}

/// Protobuf's JSON reads null as a field that is not there.
fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
