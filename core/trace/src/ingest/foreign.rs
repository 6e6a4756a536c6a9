//! Traces of other tools in JSON: Chrome and DFTracer, Jaeger, Zipkin, HTrace.

use serde_json::Value;

use super::gathered::Gathered;
use crate::error::Place;
use crate::shape::{digest_of, mix};
use crate::span::{Span, SpanStore};

/// What went wrong, and where.
pub type Failure = (Place, String);

/// A format, told by its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Events with "ph", in a list or under "traceEvents"; DFTracer writes one a line.
    Chrome,
    /// Lists of spans with "traceID" under "data".
    Jaeger,
    /// A list of spans with "traceId" and "timestamp".
    Zipkin,
    /// One object a line with the keys a, b, e and d.
    Htrace,
}

/// Keys are looked for in so many bytes from the beginning.
const SNIFFED_BYTES: usize = 1 << 16;

impl Form {
    /// The format of a JSON text, unless it is OTLP or none of these.
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
            b'{' if has("traceID") && has("spans") => Some(Form::Jaeger),
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

/// Reads every span of the text into the store.
pub fn read(bytes: &[u8], form: Form, store: &mut SpanStore) -> Result<(), Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let place = Place::Byte(error.valid_up_to() as u64);
        (place, "not UTF-8".to_owned())
    })?;
    let mut found = Gathered::default();
    match form {
        Form::Chrome => chrome(text, &mut found)?,
        Form::Htrace => each_line(text, |value| htrace(value, &mut found))?,
        Form::Jaeger => {
            let whole = parse(text)?;
            list(&whole, "data").for_each(|trace| jaeger(trace, &mut found));
        }
        Form::Zipkin => {
            let whole = parse(text)?;
            whole
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|span| zipkin(span, &mut found));
        }
    }
    found.move_into(store, matches!(form, Form::Chrome | Form::Htrace));
    Ok(())
}

fn parse(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        (
            Place::Line(error.line(), error.column()),
            message[..end].to_owned(),
        )
    })
}

/// One object a line, with or without the brackets and commas of a list around them.
fn each_line(text: &str, mut take: impl FnMut(&Value)) -> Result<(), Failure> {
    for (number, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('[').trim_end_matches(']');
        let line = line.trim().trim_start_matches(',').trim_end_matches(',');
        if line.is_empty() {
            continue;
        }
        let value = parse(line).map_err(|(place, reason)| match place {
            Place::Line(_, column) => (Place::Line(number + 1, column), reason),
            other => (other, reason),
        })?;
        take(&value);
    }
    Ok(())
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

/// A time or an identity as a number, which some writers send as text.
fn number(value: &Value, key: &str) -> Option<f64> {
    let value = value.get(key)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Microseconds as nanoseconds; exact for whole ones.
fn micros(value: &Value, key: &str) -> Option<u64> {
    let told = value.get(key)?;
    if let Some(whole) = told.as_u64() {
        return whole.checked_mul(1000);
    }
    let nanoseconds = number(value, key)? * 1000.0;
    (0.0..u64::MAX as f64)
        .contains(&nanoseconds)
        .then_some(nanoseconds as u64)
}

/// An identity of any form as 64 bits; hexadecimal ones stay themselves.
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

fn chrome(text: &str, found: &mut Gathered) -> Result<(), Failure> {
    let first = text.trim_start().trim_start_matches('[').trim_start();
    let line = first
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end()
        .trim_end_matches(',');
    let mut events = Vec::new();
    if first.starts_with('{')
        && serde_json::from_str::<Value>(line).is_ok_and(|v| v.get("ph").is_some())
    {
        each_line(text, |value| events.push(value.clone()))?;
    } else {
        let whole = parse(text)?;
        let inside = whole.get("traceEvents").unwrap_or(&whole);
        events.extend(inside.as_array().into_iter().flatten().cloned());
    }
    let mut open: std::collections::HashMap<(u64, u64), Vec<Value>> = Default::default();
    for event in events {
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
    found.losses.unpaired += open.values().map(|left| left.len() as u64).sum::<u64>();
    found.nest();
    Ok(())
}

/// A process or thread, which some writers number and some name.
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
        let failed = list(span, "tags")
            .any(|tag| word(tag, "key") == "error" && tag.get("value").is_some_and(|v| v != false));
        timed(span, ("startTime", "duration"), found, |found, kept| {
            let kept = Span {
                trace_id: trace_identity(word(span, "traceID")),
                span_id: identity(word(span, "spanID")),
                parent_id: identity(parent),
                status_error: failed,
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

fn zipkin(span: &Value, found: &mut Gathered) {
    let (id, parent) = (identity(word(span, "id")), identity(word(span, "parentId")));
    // Client and server may share one identity: the server's half then hangs under the client's.
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
