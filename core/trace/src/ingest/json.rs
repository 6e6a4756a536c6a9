//! Reads OTLP JSON. A file has one document or several. Ids are hexadecimal, and long integers may
//! be texts or numbers.
//!
//! The outer levels of a document are walked with an explicit stack. A document of any size is
//! therefore read span by span: at most one span or one resource is in memory at a time.

use serde::de::{Deserialize, Deserializer};

use super::json_span::{usual_span, Identity, UsualSpan};
use super::json_values::{IsError, Nanoseconds, Text};
use super::picked::Picked;
use super::source::{Failure, Source};
use crate::span::{Span, SpanStore};

/// Returns the text without the byte order mark that it may begin with.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Maximum depth of nested objects and lists. No valid trace nests deeper.
const DEPTH_MAX: usize = 128;

/// The type of an object in an OTLP document, from the outermost to the innermost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    Document,
    ResourceSpans,
    ScopeSpans,
    Span,
}

impl Level {
    fn expected(self) -> &'static str {
        match self {
            Level::Document => "an OTLP trace document",
            Level::ResourceSpans => "a list of resourceSpans",
            Level::ScopeSpans => "a list of scopeSpans",
            Level::Span => "a list of spans",
        }
    }
}

/// An object or list that was opened and not yet closed. For a list, `level` is the type of its
/// elements.
#[derive(Debug)]
struct Open {
    level: Level,
    list: bool,
    /// Whether the last item read was a value, so that a comma or the closing bracket must follow.
    behind_value: bool,
    /// Whether the object has a key that occurs only in traces.
    is_trace: bool,
}

/// Reads one OTLP JSON file. Between two spans, its state is the stack of the open objects and
/// lists.
#[derive(Default)]
pub struct JsonReader {
    open: Vec<Open>,
    begun: bool,
    place: Option<(u32, u32)>,
    /// Index in the store of the first span whose resource was not read yet.
    first: usize,
    /// Number of spans that were taken out of the store before their resource was read.
    given_away: u64,
}

impl JsonReader {
    /// Reads spans until the store holds `room` spans. Returns false at the end of the file.
    pub fn advance(
        &mut self,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> Result<bool, Failure> {
        if !self.begun {
            self.begun = true;
            source.count_lines();
            source.fill(3)?;
            let mark = source.rest().len() - without_byte_order_mark(source.rest()).len();
            source.consume(mark);
        }
        self.first = store.spans.len();
        while store.spans.len() < room {
            if !self.step(source, store)? {
                return Ok(false);
            }
        }
        if self.place.is_none() {
            self.given_away += (store.spans.len() - self.first) as u64;
        }
        Ok(true)
    }

    /// Reads one bracket, key or value. Returns false at the end of the file.
    fn step(&mut self, source: &mut Source<'_>, store: &mut SpanStore) -> Result<bool, Failure> {
        let Some(byte) = source.visible()? else {
            return match self.open.last() {
                None => Ok(false),
                Some(Open { list: true, .. }) => Err(source.cut(0, "EOF while parsing a list")),
                Some(_) => Err(source.cut(0, "EOF while parsing an object")),
            };
        };
        let Some(top) = self.open.last_mut() else {
            self.enter(source, byte, Level::Document)?;
            return Ok(true);
        };
        let (level, list) = (top.level, top.list);
        if byte == if list { b']' } else { b'}' } {
            source.consume(1);
            self.close(source, store)?;
            return Ok(true);
        }
        if top.behind_value {
            if byte != b',' {
                let end = if list { ']' } else { '}' };
                return Err(source.failure(1, format!("expected `,` or `{end}`")));
            }
            top.behind_value = false;
            source.consume(1);
            return Ok(true);
        }
        top.behind_value = true;
        if !list {
            self.member(source, store)?;
        } else if level == Level::Span && byte == b'{' {
            self.span(source, store)?;
        } else {
            self.enter(source, byte, level)?;
        }
        Ok(true)
    }

    /// Enters an object or list of the type `level`, whose first character is `byte`. If `byte` is
    /// an opening bracket, consumes it and puts the object or list on the stack. Otherwise, the
    /// value is of another type and is passed to `wrong_kind`.
    fn enter(&mut self, source: &mut Source<'_>, byte: u8, level: Level) -> Result<(), Failure> {
        let list = byte == b'[';
        if !(byte == b'{' || list && level != Level::Document) {
            return wrong_kind(source, byte, level);
        }
        source.consume(1);
        if self.open.len() == DEPTH_MAX {
            return Err(source.failure(0, "recursion limit exceeded"));
        }
        let is_trace = list || level != Level::Document;
        let behind_value = false;
        self.open.push(Open {
            level,
            list,
            behind_value,
            is_trace,
        });
        Ok(())
    }

    fn close(&mut self, source: &Source<'_>, store: &mut SpanStore) -> Result<(), Failure> {
        let closed = self.open.pop().expect("something is open");
        if !closed.is_trace {
            let reason = "not an OTLP trace document: it has no key resourceSpans";
            return Err(source.failure(0, reason));
        }
        if closed.level == Level::ResourceSpans && !closed.list {
            self.place = None;
            self.given_away = 0;
            self.first = store.spans.len();
        }
        Ok(())
    }

    /// Reads a key and its value. If the value is an object or list that contains spans, reads only
    /// the opening bracket of the value.
    fn member(&mut self, source: &mut Source<'_>, store: &mut SpanStore) -> Result<(), Failure> {
        let length = source.json_value()?;
        let key = parse::<Text>(source, length)?.0.into_owned();
        source.consume(length);
        source.colon()?;
        let top = self.open.last_mut().expect("an object is open");
        let inner = match (top.level, key.as_str()) {
            (Level::Document, "resourceSpans" | "resource_spans") => Level::ResourceSpans,
            (Level::ResourceSpans, "scopeSpans" | "scope_spans") => Level::ScopeSpans,
            (Level::ScopeSpans, "spans") => Level::Span,
            (Level::ResourceSpans, "resource") => return self.resource(source, store),
            _ => {
                let length = source.json_value()?;
                source.consume(length);
                return Ok(());
            }
        };
        top.is_trace = true;
        match source.visible()? {
            Some(b'{') if inner == Level::Span => self.span(source, store),
            Some(b'n') => {
                let length = source.json_value()?;
                source.consume(length);
                Ok(())
            }
            Some(byte) => self.enter(source, byte, inner),
            None => Err(source.cut(0, "EOF while parsing a value")),
        }
    }

    /// Reads a resource. The spans of the resource that precede it in the document get its service
    /// and host.
    fn resource(&mut self, source: &mut Source<'_>, store: &mut SpanStore) -> Result<(), Failure> {
        let length = source.json_value()?;
        let resource = parse::<Option<Resource>>(source, length)?.unwrap_or_default();
        let (service, host) = resource.attributes.place(store);
        source.consume(length);
        for span in &mut store.spans[self.first..] {
            (span.service, span.host) = (service, host);
        }
        store.losses.late_resources += std::mem::take(&mut self.given_away);
        self.place = Some((service, host));
        Ok(())
    }

    #[inline(always)]
    fn span(&mut self, source: &mut Source<'_>, store: &mut SpanStore) -> Result<(), Failure> {
        let place = self.place.unwrap_or_default();
        // The span is decoded in place, since returning it would copy it.
        let mut span = UsualSpan::default();
        if let Some(length) = usual_span(source.rest(), &mut span) {
            keep(&span, place, store);
            source.consume(length);
            return Ok(());
        }
        let length = source.json_value()?;
        let span = parse::<SpanDocument>(source, length)?;
        let mut picked = span.attributes;
        picked.trace_state(span.trace_state.0.as_bytes());
        let usual = UsualSpan {
            trace_id: Identity::of(span.trace_id.0.as_bytes(), 32),
            span_id: Identity::of(span.span_id.0.as_bytes(), 16),
            parent_id: Identity::of(span.parent_span_id.0.as_bytes(), 16),
            name: span.name.0.as_bytes(),
            start_ns: span.start_time_unix_nano.0,
            end_ns: span.end_time_unix_nano.0,
            picked,
            error: span.status.code.0,
        };
        keep(&usual, place, store);
        source.consume(length);
        Ok(())
    }
}

fn parse<'s, T: Deserialize<'s>>(source: &'s Source<'_>, length: usize) -> Result<T, Failure> {
    serde_json::from_slice(&source.rest()[..length]).map_err(|error| source.json_failure(&error))
}

/// Handles a value that should be an object or a list but is neither: null is accepted, anything
/// else is an error.
fn wrong_kind(source: &mut Source<'_>, byte: u8, level: Level) -> Result<(), Failure> {
    let length = source.json_value()?;
    if byte == b'n' && level != Level::Document {
        source.consume(length);
        return Ok(());
    }
    let found = match byte {
        b'"' => "text".to_owned(),
        b'[' => "sequence".to_owned(),
        b't' | b'f' => "boolean".to_owned(),
        _ => {
            let number = String::from_utf8_lossy(&source.rest()[..length.min(40)]).into_owned();
            format!("integer `{number}`")
        }
    };
    let reason = format!("invalid type: {found}, expected {}", level.expected());
    Err(source.failure(length, reason))
}

#[inline(always)]
fn keep(span: &UsualSpan<'_>, (service, host): (u32, u32), store: &mut SpanStore) {
    let (Identity::Number(trace_id), Identity::Number(span_id)) = (span.trace_id, span.span_id)
    else {
        store.losses.bad_ids += 1;
        return;
    };
    let parent_id = match span.parent_id {
        Identity::Number(parent_id) => parent_id,
        Identity::None => 0,
        Identity::Wrong => {
            store.losses.missing_parents += 1;
            0
        }
    };
    let kept = Span {
        trace_id,
        span_id: span_id as u64,
        parent_id: parent_id as u64,
        name: store.intern_bytes(span.name),
        start_ns: span.start_ns,
        end_ns: span.end_ns,
        service,
        host,
        thread: span.picked.thread(),
        wait: span.picked.wait(),
        bytes: span.picked.bytes(store),
        status_error: span.error,
        sampling: span.picked.sampling(store),
    };
    store.push(kept);
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
    #[serde(borrow, default, rename = "traceState", alias = "trace_state")]
    trace_state: Text<'a>,
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

/// Deserializes a value. Null becomes the default value, like a missing field, as protobuf's JSON
/// mapping requires.
fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
