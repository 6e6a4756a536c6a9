//! Reads trace files in all supported formats. A file's format is recognised by the content, never
//! by the file's name, unless the user names the format.

mod ceph;
mod digits;
mod foreign;
mod gathered;
mod json;
mod json_span;
mod json_values;
mod layout;
mod lines;
mod picked;
mod plain_span;
mod protobuf;
mod source;
mod wire;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{FilePosition, Result, TraceError};
use crate::json_words::in_words;
use crate::span::losses::SpanLosses;
use crate::span::SpanStore;
use source::{Failure, Source};

/// Reads one trace file and adds its spans to the store. Several files may have spans of the same
/// trace. A file without a span is an error.
///
/// These formats are supported:
/// - OTLP protobuf: one message, or a sequence of messages with varint or four-byte length prefixes
/// - OTLP JSON: one document, or one document per line
/// - the JSON of Chrome, DFTracer, Jaeger, Zipkin, HTrace and Ceph's OpTracker
/// - the output of `strace -f -T -ttt`
/// - the access log of JuiceFS
pub fn read_file(path: &Path, store: &mut SpanStore) -> Result<()> {
    read_all(Reader::open(path, None)?, store)
}

/// Reads a trace that is in memory and adds its spans to the store. `path` only names the trace in
/// errors.
pub fn read_bytes(path: &Path, bytes: &[u8], store: &mut SpanStore) -> Result<()> {
    read_all(Reader::new(path, bytes)?, store)
}

fn read_all(mut reader: Reader<'_>, store: &mut SpanStore) -> Result<()> {
    while reader.advance(store, usize::MAX)? {}
    Ok(())
}

/// A format that the user names, for files whose content is not recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// OTLP as JSON.
    OtlpJson,
    /// OTLP as protobuf, with or without length prefixes of its messages.
    OtlpProtobuf,
    /// The JSON of another tool.
    OtherJson(foreign::Form),
    /// A text log.
    Lines(lines::Form),
}

const NAMED: [(&str, InputFormat); 10] = [
    ("otlp-json", InputFormat::OtlpJson),
    ("otlp-protobuf", InputFormat::OtlpProtobuf),
    ("chrome", InputFormat::OtherJson(foreign::Form::Chrome)),
    ("dftracer", InputFormat::OtherJson(foreign::Form::Chrome)),
    ("jaeger", InputFormat::OtherJson(foreign::Form::Jaeger)),
    ("zipkin", InputFormat::OtherJson(foreign::Form::Zipkin)),
    ("htrace", InputFormat::OtherJson(foreign::Form::Htrace)),
    ("ceph", InputFormat::OtherJson(foreign::Form::Ceph)),
    ("strace", InputFormat::Lines(lines::Form::Strace)),
    ("juicefs", InputFormat::Lines(lines::Form::JuiceFs)),
];

impl InputFormat {
    /// Returns the format with this name.
    ///
    /// # Errors
    ///
    /// For an unknown name: one line that lists all names.
    pub fn named(name: &str) -> std::result::Result<Self, String> {
        let known = NAMED.iter().find(|(known, _)| *known == name);
        known.map(|(_, format)| *format).ok_or_else(|| {
            let names = NAMED.map(|(name, _)| name).join(", ");
            format!("format {name:?}: must be one of {names}")
        })
    }
}

/// Reads one trace file in portions of a given number of spans.
pub struct Reader<'r> {
    path: PathBuf,
    source: Source<'r>,
    form: FormReader,
    /// Whether a truncated file is accepted: its complete spans are kept, and the truncated bytes
    /// are counted as lost.
    salvages: bool,
    /// Number of spans kept so far (`spans`), and number of records dropped so far for each reason
    /// in `DROPPED` (`dropped`).
    spans: u64,
    dropped: [u64; DROPPED.len()],
}

/// The reader of the file's content, by format.
enum FormReader {
    Json(json::JsonReader),
    Protobuf(protobuf::ProtobufReader),
    Foreign(foreign::ForeignReader),
    Lines(lines::LineReader),
}

impl<'r> Reader<'r> {
    /// Opens a file. If `format` is None, the format is recognised by the content. A truncated file
    /// is no error, since files are truncated when recorders are killed or disks run full. Its
    /// complete spans are kept, and the truncated bytes are counted as lost.
    pub fn open(path: &Path, format: Option<InputFormat>) -> Result<Reader<'static>> {
        let file =
            File::open(path).map_err(|error| TraceError::from_io("reading trace", path, &error))?;
        let mut reader = Reader::begin(path, file, format)?;
        reader.salvages = true;
        Ok(reader)
    }

    /// Creates the reader of an input and recognises its format. `path` only names the input in
    /// errors.
    pub fn new(path: &Path, input: impl Read + Send + 'r) -> Result<Self> {
        Reader::begin(path, input, None)
    }

    fn begin(
        path: &Path,
        input: impl Read + Send + 'r,
        named: Option<InputFormat>,
    ) -> Result<Self> {
        let mut source = Source::new(input);
        let outcome = source.more().and_then(|_| source.fill(HEAD_BYTES));
        outcome.map_err(|failure| to_error(path, failure))?;
        let refuse = |reason: &str| Err(TraceError::input(path, FilePosition::Whole, reason));
        let head = source.rest();
        let form = match Format::of(head, named) {
            Format::Nothing => return refuse("the file is empty"),
            Format::Compressed(name) => {
                return refuse(&format!("compressed with {name}; decompress it first"))
            }
            Format::Json => FormReader::Json(json::JsonReader::default()),
            Format::Protobuf(framing) => {
                FormReader::Protobuf(protobuf::ProtobufReader::new(framing))
            }
            Format::OtherJson(form) => FormReader::Foreign(foreign::ForeignReader::new(form, head)),
            Format::Lines(form) => FormReader::Lines(lines::LineReader::new(form)),
            Format::Foreign if is_wide_text(head) => {
                return refuse("text in UTF-16; convert it with iconv -f UTF-16 -t UTF-8")
            }
            Format::Foreign => return refuse(
                "neither OTLP JSON nor OTLP protobuf (allowed besides: Chrome, Jaeger, Zipkin, \
                     HTrace and Ceph OpTracker JSON, strace -T -ttt, JuiceFS access log)",
            ),
        };
        let path = path.to_owned();
        Ok(Reader {
            path,
            source,
            form,
            salvages: false,
            spans: 0,
            dropped: [0; DROPPED.len()],
        })
    }

    /// Reads spans until the store holds `room` spans. Returns false at the end of the file.
    pub fn advance(&mut self, store: &mut SpanStore, room: usize) -> Result<bool> {
        let (spans, before) = (store.spans.len(), dropped(&store.losses));
        let source = &mut self.source;
        let outcome = match &mut self.form {
            FormReader::Json(reader) => reader.advance(source, store, room),
            FormReader::Protobuf(reader) => reader.advance(source, store, room),
            FormReader::Foreign(reader) => reader.advance(source, store, room),
            FormReader::Lines(reader) => reader.advance(source, store, room),
        };
        let whole = store.spans.len() > spans || self.spans > 0;
        let more = match outcome {
            Err(Failure::Cut(..)) if self.salvages && whole => {
                store.losses.truncated_files += 1;
                store.losses.unread_bytes += source.rest().len() as u64;
                if let FormReader::Protobuf(reader) = &self.form {
                    store.losses.missing_bytes += reader.missing_bytes(source);
                }
                false
            }
            outcome => outcome.map_err(|failure| to_error(&self.path, failure))?,
        };
        self.spans += (store.spans.len() - spans) as u64;
        let now = dropped(&store.losses);
        for (sum, (now, before)) in self.dropped.iter_mut().zip(now.iter().zip(before)) {
            *sum += now - before;
        }
        if !more && self.spans == 0 {
            return Err(TraceError::input(
                &self.path,
                FilePosition::Whole,
                self.nothing_in_words(),
            ));
        }
        Ok(more)
    }

    /// Returns the text of the error for a file without spans, with the reasons why it has no
    /// spans.
    fn nothing_in_words(&self) -> String {
        let reasons = self
            .dropped
            .iter()
            .zip(DROPPED)
            .filter(|(&count, _)| count > 0);
        let reasons: Vec<String> = reasons
            .map(|(count, how)| format!("{count} {how}"))
            .collect();
        if reasons.is_empty() {
            return "the file holds no spans".to_owned();
        }
        format!("no usable span: {}", reasons.join(", "))
    }
}

/// Maximum number of bytes at the start of a file by which its format is recognised.
const HEAD_BYTES: usize = 1 << 18;

/// The reasons for which records that might have been spans are dropped, as reported in errors.
const DROPPED: [&str; 4] = [
    "dropped for zero or malformed ids",
    "dropped for times that cannot be",
    "dropped without their beginning or end",
    "passed over: lines that are no finished call",
];

fn dropped(losses: &SpanLosses) -> [u64; DROPPED.len()] {
    let ids = losses.zero_ids + losses.bad_ids;
    [ids, losses.bad_times, losses.unpaired, losses.other_lines]
}

fn to_error(path: &Path, failure: Failure) -> TraceError {
    match failure {
        Failure::At(place, reason) | Failure::Cut(place, reason) => {
            TraceError::input(path, place, in_words(&reason))
        }
        Failure::Io(error) => TraceError::from_io("reading trace", path, &error),
    }
}

/// The format of a file, as recognised by its first bytes and the lengths of its messages.
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
    /// Determines the format of a file from its first bytes. `named` is the format that the user
    /// named, if any. This format takes precedence over the recognised format, unless the file is
    /// empty or compressed.
    fn of(bytes: &[u8], named: Option<InputFormat>) -> Format {
        let found = Format::recognise(bytes);
        let Some(named) = named else { return found };
        let framing = || protobuf::Framing::recognise(bytes).unwrap_or(protobuf::Framing::Bare);
        match (found, named) {
            (found @ (Format::Nothing | Format::Compressed(_)), _) => found,
            (_, InputFormat::OtlpJson) => Format::Json,
            (_, InputFormat::OtlpProtobuf) => Format::Protobuf(framing()),
            (_, InputFormat::OtherJson(form)) => Format::OtherJson(form),
            (_, InputFormat::Lines(form)) => Format::Lines(form),
        }
    }

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

/// Whether the bytes begin a text in UTF-16 or UTF-32, by its byte order mark.
fn is_wide_text(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Whether the bytes begin a JSON object. A protobuf trace may also start with a line break and
/// "{". Therefore, the next visible character is checked, too: it must be "}", or a quote that no
/// control character follows.
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
        // These bytes begin a valid protobuf trace, but look like JSON. As text, 0x0a is a line
        // break and 0x7b is "{". As protobuf, they are the tag of field 1 and its length.
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
        assert!(is_wide_text(b"\xff\xfe{\0"));
        assert_eq!(Format::recognise(b"hello, world"), Format::Foreign);
    }
}
