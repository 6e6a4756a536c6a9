//! Tests that decoding a span by comparison with earlier spans gives the same result as parsing it
//! in full.

use std::path::Path;

use dfslab_trace::{read_bytes, Span, SpanLosses, SpanStore};
use opentelemetry_proto::tonic::common::v1::{any_value::Value, AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span as Written, Status, TracesData,
};
use prost::Message;

use crate::support::Random;

const SPANS: u64 = 4000;
const FLIPS: u64 = 3000;

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// Creates an attribute with a random key and a random value of any type. The crate uses only some
/// of these attributes.
fn attribute(random: &mut Random) -> KeyValue {
    let number = Value::IntValue((random.next() >> random.below(64)) as i64);
    match random.below(12) {
        0 | 1 => pair("thread.id", number),
        2 | 3 => pair("dfslab.size_bytes", number),
        4 => pair("bytes", number),
        5 => pair("size_bytes", Value::StringValue("4096".to_owned())),
        6 => pair(
            "path",
            Value::StringValue(format!("/{}", random.below(1_000_000))),
        ),
        7 => pair(
            "dfslab.kind",
            Value::StringValue(["queue", "calls"][random.below(2) as usize].into()),
        ),
        8 => pair("sampling.probability", Value::DoubleValue(0.25)),
        9 => pair("real", Value::DoubleValue(random.below(1000) as f64)),
        10 => pair("flag", Value::BoolValue(random.below(2) == 0)),
        _ => pair("other", number),
    }
}

fn span(random: &mut Random, number: u64) -> Written {
    let attributes = (0..random.below(4)).map(|_| attribute(random)).collect();
    let parent_id = match random.below(4) {
        0 => Vec::new(),
        1 => vec![1; random.below(10) as usize],
        _ => (number / 2).to_be_bytes().to_vec(),
    };
    let failed = random.below(9) == 0;
    let start = 1_700_000_000_000_000_000 + random.below(1 << 40);
    Written {
        trace_id: u128::from(random.below(3)).to_be_bytes().to_vec(),
        span_id: number.to_be_bytes().to_vec(),
        parent_span_id: parent_id,
        trace_state: ["", "", "", "ot=th:8"][random.below(4) as usize].to_owned(),
        name: ["read", "open", "close", "w\u{fc}rfe", &"long".repeat(50)][random.below(5) as usize]
            .to_owned(),
        kind: random.below(6) as i32,
        start_time_unix_nano: start,
        end_time_unix_nano: start + random.below(1 << 20),
        attributes,
        status: failed.then(|| Status {
            code: 2,
            ..Status::default()
        }),
        ..Written::default()
    }
}

/// Creates an OTLP file with these encoded spans, consecutive in one scope.
fn file_of(spans: &[Vec<u8>]) -> Vec<u8> {
    let block = |tag: u8, inner: &[u8]| {
        let mut bytes = vec![tag];
        prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
        bytes.extend_from_slice(inner);
        bytes
    };
    let scope: Vec<u8> = spans.iter().flat_map(|span| block(0x12, span)).collect();
    block(0x0a, &block(0x12, &scope))
}

/// The spans of a file, each with its texts instead of their numbers, and the losses.
type Parsed = (Vec<(Span, String)>, SpanLosses);

/// Reads a file and returns its spans and losses; None if the file is invalid.
fn parsed(file: &[u8]) -> Option<Parsed> {
    let mut store = SpanStore::default();
    // A file without a usable span is an error for the reader, but this test needs only the losses
    // of such a file.
    let outcome = read_bytes(Path::new("trace"), file, &mut store);
    let unusable = |error: &str| error.contains("no usable span");
    if outcome.is_err_and(|error| !unusable(&error.to_string())) {
        return None;
    }
    let name = |span: &Span| store.texts.text(span.name).to_owned();
    let weight = |span: &Span| store.texts.weight(span.sampling);
    let words = store.spans.iter().map(|span| {
        let text = format!("{} {}", name(span), weight(span));
        (
            Span {
                name: 0,
                sampling: 0,
                ..*span
            },
            text,
        )
    });
    Some((words.collect(), store.losses))
}

/// Reads each span from a separate file, so that there are no earlier spans to compare with.
fn singly(spans: &[Vec<u8>]) -> Option<Parsed> {
    joined(&spans.iter().map(|span| alone(span)).collect::<Vec<_>>())
}

/// Reads one span from a file that contains only that span.
fn alone(span: &[u8]) -> Option<Parsed> {
    parsed(&file_of(&[span.to_vec()]))
}

/// Concatenates the spans and adds the losses of several files. None if one of the files is
/// invalid.
fn joined(files: &[Option<Parsed>]) -> Option<Parsed> {
    let (mut all, mut losses) = (Vec::new(), SpanLosses::default());
    for file in files {
        let (words, lost) = file.as_ref()?;
        all.extend(words.iter().cloned());
        losses.merge(lost);
    }
    Some((all, losses))
}

fn encoded(seed: u64, spans: u64) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let one = |number| span(&mut random, number).encode_to_vec();
    (1..=spans).map(one).collect()
}

#[test]
fn a_span_is_parsed_the_same_among_like_spans_and_alone() {
    let spans = encoded(5, SPANS);
    let file = file_of(&spans);
    assert_eq!(parsed(&file), singly(&spans));
    let decoded = TracesData::decode(file.as_slice()).expect("valid OTLP");
    let ResourceSpans { scope_spans, .. } = &decoded.resource_spans[0];
    let ScopeSpans { spans: oracle, .. } = &scope_spans[0];
    let (words, _) = parsed(&file).expect("a sound file");
    for ((span, text), written) in words
        .iter()
        .zip(oracle.iter().filter(|one| one.trace_id != [0; 16]))
    {
        assert_eq!(span.span_id.to_be_bytes()[..], written.span_id);
        assert_eq!(span.start_ns, written.start_time_unix_nano);
        assert_eq!(span.end_ns, written.end_time_unix_nano);
        assert!(text.starts_with(&written.name), "{text}");
        assert_eq!(span.status_error, written.status.is_some());
    }
}

#[test]
fn a_changed_byte_has_the_same_effect_in_a_file_and_alone() {
    // The same twelve spans occur three times. The test changes and reads spans of the third copy.
    // By then, the layout of each span is known.
    let kinds = encoded(7, 12);
    let kinds = [kinds.clone(), kinds.clone(), kinds].concat();
    // Each span can be read alone, since the result does not depend on other spans. After a span
    // was changed, only this span is therefore read again.
    let known: Vec<_> = kinds.iter().map(|span| alone(span)).collect();
    let mut random = Random(9);
    let (mut same, mut wrong) = (0, 0);
    for _ in 0..FLIPS {
        let (mut spans, mut expected_parts) = (kinds.clone(), known.clone());
        let which = 24 + random.below(6) as usize;
        let changed = &mut spans[which];
        let at = random.below(changed.len() as u64) as usize;
        changed[at] ^= 1 << random.below(8);
        expected_parts[which] = alone(&spans[which]);
        let expected = joined(&expected_parts);
        *(if expected.is_some() {
            &mut same
        } else {
            &mut wrong
        }) += 1;
        assert_eq!(parsed(&file_of(&spans)), expected);
    }
    assert!(same > FLIPS / 4 && wrong > FLIPS / 40, "{same} {wrong}");
}
