//! Reads JSON traces that other tools write: Chrome and DFTracer, Jaeger, Zipkin, HTrace, and Ceph.

use std::collections::HashMap;

use serde_json::Value;

use super::ceph;
use super::gathered::{Gathered, GATHERED_MAX};
use super::source::{Failure, Source};
use crate::span::sampling::weight_of;
use crate::span::{Span, SpanStore};
use crate::tree::shape::{digest_of, mix};

/// The JSON format of another tool, recognised by its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Chrome's events with the key "ph", in a list or under "traceEvents". DFTracer writes one
    /// such event per line.
    Chrome,
    /// An object that has, under "data", lists of spans with "traceID".
    Jaeger,
    /// A list of spans with the keys "traceId" and "timestamp".
    Zipkin,
    /// One object per line with the keys a, b, e and d.
    Htrace,
    /// An object that has, under "ops", operations with "initiated_at".
    Ceph,
}

/// Number of bytes at the start of a file that are searched for the keys of a format.
const SNIFFED_BYTES: usize = 1 << 16;

impl Form {
    /// Recognises the format of a JSON text; None for OTLP and unknown formats.
    pub fn recognise(bytes: &[u8]) -> Option<Form> {
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let head = &bytes[start..bytes.len().min(start + SNIFFED_BYTES)];
        let head = String::from_utf8_lossy(head);
        let has = |key: &str| head.contains(&format!("\"{key}\""));
        if has("resourceSpans") || has("resource_spans") {
            return None;
        }
        let line = head.lines().next().unwrap_or_default();
        let htrace = || serde_json::from_str::<Value>(line).is_ok_and(|value| is_htrace(&value));
        match head.as_bytes().first()? {
            b'[' if has("ph") => Some(Form::Chrome),
            b'[' if has("traceId") => Some(Form::Zipkin),
            b'{' if has("traceEvents") => Some(Form::Chrome),
            b'{' if has("ph") && has("ts") => Some(Form::Chrome),
            b'{' if has("traceID") && has("spans") => Some(Form::Jaeger),
            b'{' if has("ops") && has("initiated_at") => Some(Form::Ceph),
            b'{' if htrace() => Some(Form::Htrace),
            _ => None,
        }
    }
}

fn is_htrace(value: &Value) -> bool {
    ["a", "b", "e", "d"]
        .iter()
        .all(|key| value.get(key).is_some())
}

/// Reads a file in one of the formats of `Form`. Parses the file's list of events, spans or traces
/// one element at a time, so that the file need not fit into memory.
pub struct ForeignReader {
    form: Form,
    /// The key of the list of events, spans or traces, if the file is an object that contains the
    /// list. None if the file is the list itself, or a sequence of its elements.
    key: Option<&'static str>,
    inside: bool,
    open: HashMap<(u64, u64), Vec<Value>>,
    found: Gathered,
}

impl ForeignReader {
    /// Creates the reader of a file that begins with the bytes `head`.
    pub fn new(form: Form, head: &[u8]) -> Self {
        let object = head.trim_ascii_start().first() == Some(&b'{');
        let head = String::from_utf8_lossy(&head[..head.len().min(SNIFFED_BYTES)]).into_owned();
        let key = match form {
            Form::Jaeger => Some("data"),
            Form::Ceph => Some("ops"),
            Form::Chrome if object && head.contains("\"traceEvents\"") => Some("traceEvents"),
            _ => None,
        };
        let (open, found) = (HashMap::new(), Gathered::default());
        Self {
            form,
            key,
            inside: key.is_none(),
            open,
            found,
        }
    }

    /// Reads spans until the store holds `room` spans. Returns false at the end of the file.
    pub fn advance(
        &mut self,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> Result<bool, Failure> {
        let outcome = self.read(source, store, room);
        if matches!(outcome, Err(Failure::Cut(..))) {
            self.settle(store);
        }
        outcome
    }

    fn read(
        &mut self,
        source: &mut Source<'_>,
        store: &mut SpanStore,
        room: usize,
    ) -> Result<bool, Failure> {
        source.count_lines();
        let identified = matches!(self.form, Form::Jaeger | Form::Zipkin | Form::Ceph);
        while store.spans.len() < room {
            let Some(length) = self.next_value(source)? else {
                self.found.losses.unpaired += self
                    .open
                    .drain()
                    .map(|(_, left)| left.len() as u64)
                    .sum::<u64>();
                self.settle(store);
                return Ok(false);
            };
            let value: Value = serde_json::from_slice(&source.rest()[..length])
                .map_err(|error| source.json_failure(&error))?;
            source.consume(length);
            match self.form {
                Form::Chrome => chrome(value, &mut self.open, &mut self.found),
                Form::Jaeger => jaeger(&value, &mut self.found),
                Form::Zipkin => zipkin(&value, &mut self.found),
                Form::Htrace => htrace(&value, &mut self.found),
                Form::Ceph => ceph::operation(&value, &mut self.found),
            }
            if self.found.spans() >= if identified { 1 } else { GATHERED_MAX } {
                // The spans of a format without trace ids are converted in batches. Links between
                // spans of different batches are lost. Each full batch is therefore counted as a
                // cut trace.
                self.found.losses.cut_traces += u64::from(!identified);
                self.settle(store);
            }
        }
        Ok(true)
    }

    fn settle(&mut self, store: &mut SpanStore) {
        if self.form == Form::Chrome {
            self.found.nest();
        }
        let without_traces = matches!(self.form, Form::Chrome | Form::Htrace);
        self.found.move_into(store, without_traces);
    }

    /// Reads the next value of the list into memory and returns its length in bytes; None at the
    /// end of the list.
    fn next_value(&mut self, source: &mut Source<'_>) -> Result<Option<usize>, Failure> {
        loop {
            match (source.visible()?, self.key) {
                (None, None) => return Ok(None),
                // A list without its end is accepted, since tools that are killed leave such lists.
                // A truncated object is an error.
                (None, Some(_)) if self.inside => {
                    return Err(source.cut(0, "EOF while parsing a list"))
                }
                (None, Some(_)) => return Ok(None),
                (Some(b'[' | b','), _) => source.consume(1),
                (Some(b']'), key) => {
                    source.consume(1);
                    self.inside = key.is_none();
                }
                (Some(b'{' | b'}'), Some(_)) if !self.inside => source.consume(1),
                (Some(b'"'), Some(key)) if !self.inside => self.member(source, key)?,
                _ => return source.json_value().map(Some),
            }
        }
    }

    /// Reads one key of the object that contains the list. If the key is `wanted`, its value is the
    /// list, and reading stops before it. Otherwise, the value is skipped.
    fn member(&mut self, source: &mut Source<'_>, wanted: &str) -> Result<(), Failure> {
        let length = source.json_value()?;
        let found = source.rest()[1..length - 1] == *wanted.as_bytes();
        source.consume(length);
        source.colon()?;
        if found && source.visible()? == Some(b'[') {
            self.inside = true;
        } else {
            let length = source.json_value()?;
            source.consume(length);
        }
        Ok(())
    }
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the value of a key as a number; None if the value is not a number. A number that is
/// encoded as text is accepted, since some writers encode times and ids as text.
fn number(value: &Value, key: &str) -> Option<f64> {
    let value = value.get(key)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Converts the value of a key from microseconds to nanoseconds. Integers are converted exactly.
/// None if the value is missing, negative, too large or not a number.
fn micros(value: &Value, key: &str) -> Option<u64> {
    let given = value.get(key)?;
    if let Some(whole) = given.as_u64() {
        return whole.checked_mul(1000);
    }
    let nanoseconds = number(value, key)? * 1000.0;
    (0.0..u64::MAX as f64)
        .contains(&nanoseconds)
        .then_some(nanoseconds as u64)
}

/// Converts an id to 64 bits. A hexadecimal id of at most 16 digits keeps its value; any other text
/// is hashed.
fn identity(text: &str) -> u64 {
    match u64::from_str_radix(text, 16) {
        Ok(id) if text.len() <= 16 => id,
        _ if text.is_empty() => 0,
        _ => mix(digest_of(text)) | 1,
    }
}

fn trace_identity(text: &str) -> u128 {
    u128::from_str_radix(text, 16).unwrap_or_else(|_| u128::from(identity(text)))
}

fn chrome(event: Value, open: &mut HashMap<(u64, u64), Vec<Value>>, found: &mut Gathered) {
    let place = (row(&event, "pid"), row(&event, "tid"));
    match word(&event, "ph") {
        "X" => {
            let duration_ns = micros(&event, "dur").unwrap_or(0);
            chrome_span(&event, place, duration_ns, found);
        }
        "B" => open.entry(place).or_default().push(event),
        "E" => match open.get_mut(&place).and_then(Vec::pop) {
            Some(begun) => {
                let (from, to) = (micros(&begun, "ts"), micros(&event, "ts"));
                let took = to.zip(from).map_or(0, |(to, from)| to.saturating_sub(from));
                chrome_span(&begun, place, took, found);
            }
            None => found.losses.unpaired += 1,
        },
        _ => {}
    }
}

/// Returns the process or thread id under `key` as a number; 0 if there is none. If the id is a
/// name, as in some formats, `identity` converts it to a number.
fn row(event: &Value, key: &str) -> u64 {
    match event.get(key) {
        Some(Value::String(name)) => identity(name),
        Some(value) => value.as_u64().unwrap_or(0),
        None => 0,
    }
}

fn chrome_span(event: &Value, (pid, tid): (u64, u64), duration_ns: u64, found: &mut Gathered) {
    let Some(start_ns) = micros(event, "ts") else {
        found.losses.bad_times += 1;
        return;
    };
    let service = format!("pid {pid}");
    let args = event.get("args").unwrap_or(&Value::Null);
    let sizes = ["bytes", "size", "size_bytes", "ret"];
    let bytes = sizes
        .iter()
        .find_map(|key| number(args, key))
        .filter(|&size| size > 0.0);
    let span = Span {
        start_ns,
        end_ns: start_ns.saturating_add(duration_ns),
        thread: mix(pid << 32 ^ tid) | 1,
        bytes: bytes.map_or(0, |size| size as u64),
        ..Span::default()
    };
    found.add(word(event, "name"), &service, "", span);
}

fn jaeger(trace: &Value, found: &mut Gathered) {
    for span in list(trace, "spans") {
        let process = trace
            .get("processes")
            .and_then(|all| all.get(word(span, "processID")));
        let process = process.or(span.get("process")).unwrap_or(&Value::Null);
        let host = list(process, "tags").find(|tag| word(tag, "key") == "hostname");
        let host = host.map_or("", |tag| word(tag, "value"));
        let child = list(span, "references").find(|one| word(one, "refType") != "FOLLOWS_FROM");
        let parent = child.map_or(word(span, "parentSpanID"), |one| word(one, "spanID"));
        let sampling = jaeger_weight(span).map_or(0, |weight| found.intern_weight(weight));
        let failed = list(span, "tags")
            .any(|tag| word(tag, "key") == "error" && tag.get("value").is_some_and(|v| v != false));
        timed(span, ("startTime", "duration"), found, |found, kept| {
            let kept = Span {
                trace_id: trace_identity(word(span, "traceID")),
                span_id: identity(word(span, "spanID")),
                parent_id: identity(parent),
                status_error: failed,
                sampling,
                ..kept
            };
            found.add(
                word(span, "operationName"),
                word(process, "serviceName"),
                host,
                kept,
            );
        });
    }
}

/// Returns the sampling weight of a Jaeger span; None if its tags record none. Jaeger records the
/// weight only on the first span of a trace.
fn jaeger_weight(span: &Value) -> Option<u64> {
    let tag = |key| {
        let found = list(span, "tags").find(|tag| word(tag, "key") == key)?;
        found.get("value")
    };
    let probabilistic = tag("sampler.type")?.as_str()? == "probabilistic";
    let parameter = tag("sampler.param")?;
    let probability = parameter
        .as_f64()
        .or_else(|| parameter.as_str()?.parse().ok())?;
    probabilistic.then(|| weight_of(probability))?
}

fn zipkin(span: &Value, found: &mut Gathered) {
    let (id, parent) = (identity(word(span, "id")), identity(word(span, "parentId")));
    // In Zipkin, the span of a client and the span of the server it calls may have the same id. In
    // this case, the server's span gets a new id, derived from the shared one, and becomes a child
    // of the client's span.
    let shared = span.get("shared") == Some(&Value::Bool(true));
    let endpoint = span.get("localEndpoint").unwrap_or(&Value::Null);
    timed(span, ("timestamp", "duration"), found, |found, kept| {
        let kept = Span {
            trace_id: trace_identity(word(span, "traceId")),
            span_id: if shared { mix(id) } else { id },
            parent_id: if shared { id } else { parent },
            status_error: span
                .get("tags")
                .is_some_and(|tags| tags.get("error").is_some()),
            ..kept
        };
        found.add(
            word(span, "name"),
            word(endpoint, "serviceName"),
            word(endpoint, "ipv4"),
            kept,
        );
    });
}

fn timed(
    span: &Value,
    (start, duration): (&str, &str),
    found: &mut Gathered,
    keep: impl FnOnce(&mut Gathered, Span),
) {
    match micros(span, start) {
        Some(start_ns) => {
            let end_ns = start_ns.saturating_add(micros(span, duration).unwrap_or(0));
            let kept = Span {
                start_ns,
                end_ns,
                ..Span::default()
            };
            keep(found, kept);
        }
        None => found.losses.bad_times += 1,
    }
}

fn htrace(span: &Value, found: &mut Gathered) {
    let time = |key| {
        let milliseconds = span.get(key).and_then(Value::as_u64)?;
        milliseconds.checked_mul(1_000_000)
    };
    let (Some(start_ns), Some(end_ns)) = (time("b"), time("e")) else {
        found.losses.bad_times += 1;
        return;
    };
    let parent = list(span, "p")
        .next()
        .and_then(Value::as_str)
        .unwrap_or_default();
    let kept = Span {
        span_id: identity(word(span, "a")),
        parent_id: identity(parent),
        start_ns,
        end_ns,
        ..Span::default()
    };
    found.add(word(span, "d"), word(span, "r"), "", kept);
}
