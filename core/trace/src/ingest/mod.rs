//! Trace files in, spans out; a file's format is recognised by its content, never by its name.

mod foreign;
mod gathered;
mod json;
mod json_values;
mod lines;
mod picked;
mod protobuf;
mod wire;

use std::path::Path;

use crate::error::{Place, Result, TraceError};
use crate::span::SpanStore;

/// Reads one trace file into the store; several files may share traces.
///
/// Formats: OTLP protobuf (bare, or a stream of messages behind varint or four-byte lengths) and
/// OTLP JSON (one document, or one a line); Chrome trace JSON and DFTracer, Jaeger, Zipkin, HTrace
/// lines; `strace -f -T -ttt` and the access log of JuiceFS. A file without a span is an error.
pub fn read_file(path: &Path, store: &mut SpanStore) -> Result<()> {
    let bytes = std::fs::read(path)
        .map_err(|source| TraceError::from_io("reading trace", path, &source))?;
    read_bytes(path, &bytes, store)
}

/// Reads a trace that is already in memory; `path` only names it in errors.
pub fn read_bytes(path: &Path, bytes: &[u8], store: &mut SpanStore) -> Result<()> {
    let spans_before = store.spans.len();
    let losses_before = store.losses.clone();
    let refuse = |reason: &str| Err(TraceError::input(path, Place::Whole, reason));
    match Format::recognise(bytes) {
        Format::Nothing => return refuse("the file is empty"),
        Format::Compressed(name) => {
            return refuse(&format!("compressed with {name}; decompress it first"))
        }
        Format::Json => json::read(bytes, store)
            .map_err(|(place, reason)| TraceError::input(path, place, reason))?,
        Format::Protobuf(framing) => protobuf::read(bytes, framing, store).map_err(|error| {
            TraceError::input(path, Place::Byte(error.offset as u64), error.reason)
        })?,
        Format::OtherJson(form) => foreign::read(bytes, form, store)
            .map_err(|(place, reason)| TraceError::input(path, place, reason))?,
        Format::Lines(form) => lines::read(bytes, form, store)
            .map_err(|(place, reason)| TraceError::input(path, place, reason))?,
        Format::Foreign => {
            return refuse(
                "neither OTLP JSON nor OTLP protobuf (allowed besides: Chrome, Jaeger, Zipkin and \
                 HTrace JSON, strace -T -ttt, JuiceFS access log)",
            )
        }
    }
    if store.spans.len() == spans_before {
        let dropped = (store.losses.zero_ids - losses_before.zero_ids)
            + (store.losses.bad_ids - losses_before.bad_ids);
        let reason = if dropped == 0 {
            "the file holds no spans".to_owned()
        } else {
            format!("no usable span: {dropped} dropped for zero or malformed ids")
        };
        return refuse(&reason);
    }
    Ok(())
}

/// What a file is, judged by its first bytes and its frames.
#[derive(Debug, PartialEq, Eq)]
enum Format {
    Nothing,
    Compressed(&'static str),
    Json,
    Protobuf(protobuf::Framing),
    OtherJson(foreign::Form),
    Lines(lines::Form),
    Foreign,
}

impl Format {
    fn recognise(bytes: &[u8]) -> Format {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Format::Nothing;
        }
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Format::Compressed("gzip");
        }
        if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Format::Compressed("zstd");
        }
        if let Some(form) = foreign::Form::recognise(bytes) {
            return Format::OtherJson(form);
        }
        if looks_like_json(bytes) {
            return Format::Json;
        }
        if let Some(form) = lines::Form::recognise(bytes) {
            return Format::Lines(form);
        }
        protobuf::Framing::recognise(bytes).map_or(Format::Foreign, Format::Protobuf)
    }
}

/// A protobuf trace may start with "\n{", so an object's first key or its end is asked for too.
fn looks_like_json(bytes: &[u8]) -> bool {
    let text = json::without_byte_order_mark(bytes);
    let mut visible = text.iter().skip_while(|byte| byte.is_ascii_whitespace());
    if visible.next() != Some(&b'{') {
        return false;
    }
    let mut inside = visible.skip_while(|byte| byte.is_ascii_whitespace());
    match inside.next() {
        None | Some(b'}') => true,
        Some(b'"') => inside.next().is_none_or(|&byte| byte >= b' '),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protobuf_that_begins_like_text_is_still_protobuf() {
        // 0x0a is both a newline and the tag of the first field, 0x7b both "{" and a length.
        let mut bytes = vec![0x0a, 0x7b, 0x12, 0x79];
        bytes.extend([0x1a, 0x77]);
        bytes.extend([b'x'; 0x77]);
        assert_eq!(
            Format::recognise(&bytes),
            Format::Protobuf(protobuf::Framing::Bare)
        );
        assert_eq!(
            Format::recognise(b"\n{\n\"resourceSpans\": []}"),
            Format::Json
        );
    }

    #[test]
    fn compressed_and_empty_files_are_named_as_such() {
        assert_eq!(
            Format::recognise(&[0x1f, 0x8b, 8, 0]),
            Format::Compressed("gzip")
        );
        assert_eq!(Format::recognise(b" \n"), Format::Nothing);
        assert_eq!(Format::recognise(b"hello, world"), Format::Foreign);
    }
}
