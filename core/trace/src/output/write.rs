//! Writes spans as OTLP in JSON or protobuf. Files are written atomically.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry_proto::tonic::common::v1::{any_value, AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{self as otlp, status::StatusCode};
use prost::Message;

use crate::error::{Result, TraceError};
use crate::profile::rank::ReportOptions;
use crate::selection::Selection;
use crate::span::{Span, SpanStore, Texts};
use crate::tree::{Forest, NONE};

/// The encoding in which a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// OTLP JSON: one document, or one document per line if there are many spans.
    Json,
    /// OTLP protobuf: several messages one after the other, which protobuf reads as one message.
    Protobuf,
}

/// Number of spans in one message. The number is large, so that the bytes outside the spans matter
/// little. The number is small enough that two copies of the message fit into memory.
const SPANS_PER_MESSAGE: usize = 65_536;

/// Writes all spans of the store to the file `path`, and replaces an existing file atomically.
pub fn write_file(store: &SpanStore, path: &Path, format: OutputFormat) -> Result<()> {
    let temporary = temporary_path(path);
    let written =
        write_new(store, &temporary, format).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|source| {
        // If the temporary file existed before, another process created it, so it is not removed.
        if source.kind() != std::io::ErrorKind::AlreadyExists {
            drop(std::fs::remove_file(&temporary));
        }
        TraceError::from_io("writing trace", path, &source)
    })
}

/// Returns a unique name for a temporary file in the folder of `path`. The complete file can then
/// be renamed to `path` atomically.
fn temporary_path(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{call}.partial", std::process::id()));
    path.with_file_name(name)
}

fn write_new(store: &SpanStore, path: &Path, format: OutputFormat) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    for spans in store.spans.chunks(SPANS_PER_MESSAGE) {
        write_message(&traces_data(spans, &store.texts), format, &mut out)?;
    }
    out.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?
        .sync_all()
}

/// Converts the traces that `whole_trees` chooses to one OTLP JSON document. Returns the document
/// and the number of call trees that are not in it.
///
/// # Panics
///
/// If the options are invalid. Invalid options cannot occur here, because reading the files with
/// them would have failed.
pub fn otlp_text(sample: &Forest, spans_max: usize, options: &ReportOptions) -> (String, u64) {
    let (spans, left_out) = whole_trees(sample, spans_max, options);
    let message = traces_data(&spans, &sample.texts);
    let text = serde_json::to_string(&message).expect("OTLP is plain data");
    (text, left_out)
}

/// Returns the spans of complete traces, and the number of call trees that are left out. A trace is
/// left out if it would bring the number of spans above `spans_max`. The first trace is always
/// returned, even if it is larger.
///
/// The calls that the options drop are not returned. If a dropped call contains other calls, their
/// parent becomes the nearest caller that is kept.
///
/// # Panics
///
/// If the options are invalid. Invalid options cannot occur here, because reading the files with
/// them would have failed.
pub fn whole_trees(sample: &Forest, spans_max: usize, options: &ReportOptions) -> (Vec<Span>, u64) {
    let mut selection = Selection::of(&options.choice).expect("a choice that was read under");
    let mut chosen = sample.clone();
    selection.apply(&mut chosen, &sample.texts);
    let parent_of = |node: usize| match chosen.parents[node] {
        NONE => 0,
        parent => chosen.spans[parent as usize].span_id,
    };
    let linked: Vec<Span> = (0..chosen.spans.len())
        .map(|node| Span {
            parent_id: parent_of(node),
            ..chosen.spans[node]
        })
        .collect();
    let (mut kept, mut left_out) = (Vec::new(), 0);
    for trace in linked.chunk_by(|left, right| left.trace_id == right.trace_id) {
        if kept.is_empty() || kept.len() + trace.len() <= spans_max {
            kept.extend_from_slice(trace);
        } else {
            left_out += trace.iter().filter(|span| span.parent_id == 0).count() as u64;
        }
    }
    (kept, left_out)
}

fn write_message(
    message: &otlp::TracesData,
    format: OutputFormat,
    out: &mut BufWriter<File>,
) -> std::io::Result<()> {
    match format {
        OutputFormat::Protobuf => out.write_all(&message.encode_to_vec()),
        OutputFormat::Json => {
            serde_json::to_writer(&mut *out, message)?;
            out.write_all(b"\n")
        }
    }
}

fn traces_data(spans: &[Span], texts: &Texts) -> otlp::TracesData {
    let mut places: BTreeMap<(u32, u32), Vec<otlp::Span>> = BTreeMap::new();
    for span in spans {
        places
            .entry((span.service, span.host))
            .or_default()
            .push(otlp_span(span, texts));
    }
    let resource_spans = places
        .into_iter()
        .map(|((service, host), spans)| {
            let named = [("service.name", service), ("host.name", host)];
            let given = named
                .into_iter()
                .filter(|&(_, id)| !texts.text(id).is_empty());
            let attributes = given
                .map(|(key, id)| {
                    attribute(
                        key,
                        any_value::Value::StringValue(texts.text(id).to_owned()),
                    )
                })
                .collect();
            otlp::ResourceSpans {
                resource: Some(Resource {
                    attributes,
                    ..Resource::default()
                }),
                scope_spans: vec![otlp::ScopeSpans {
                    spans,
                    ..otlp::ScopeSpans::default()
                }],
                schema_url: String::new(),
            }
        })
        .collect();
    otlp::TracesData { resource_spans }
}

fn otlp_span(span: &Span, texts: &Texts) -> otlp::Span {
    let numbers = [
        ("thread.id", span.thread),
        ("dfslab.size_bytes", span.bytes),
    ];
    let given = numbers.into_iter().filter(|&(_, value)| value != 0);
    let parent_span_id = match span.parent_id {
        0 => Vec::new(),
        parent => parent.to_be_bytes().to_vec(),
    };
    otlp::Span {
        trace_id: span.trace_id.to_be_bytes().to_vec(),
        span_id: span.span_id.to_be_bytes().to_vec(),
        parent_span_id,
        name: texts.text(span.name).to_owned(),
        kind: otlp::span::SpanKind::Internal as i32,
        start_time_unix_nano: span.start_ns,
        end_time_unix_nano: span.end_ns,
        attributes: given
            .map(|(key, value)| {
                // OTLP has no unsigned integers, so the size is converted to a signed integer.
                // Sizes of 2^63 bytes or more do not occur in practice.
                attribute(key, any_value::Value::IntValue(value as i64))
            })
            .chain(span.wait.then(|| {
                attribute(
                    "dfslab.kind",
                    any_value::Value::StringValue("blocked".to_owned()),
                )
            }))
            .collect(),
        status: span.status_error.then(|| otlp::Status {
            code: StatusCode::Error as i32,
            ..otlp::Status::default()
        }),
        ..otlp::Span::default()
    }
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
