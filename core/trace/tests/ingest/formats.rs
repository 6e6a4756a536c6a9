//! Tests that JSON and protobuf files of one trace give the same spans. The results of both readers
//! are also compared with those of the code that is generated from OTLP's definition.

use std::path::Path;

use dfslab_trace::{read_bytes, read_file, write_file, OutputFormat, Span, SpanStore};
use opentelemetry_proto::tonic::common::v1::{any_value::Value, AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{span::Event, span::Link, ResourceSpans, TracesData};
use prost::Message;

use crate::support::{hdfs_like, profile_of, random_forest, report_of, temporary};

fn read(bytes: &[u8]) -> SpanStore {
    let mut store = SpanStore::default();
    read_bytes(Path::new("trace"), bytes, &mut store).expect("a readable trace");
    store
}

fn written(store: &SpanStore, format: OutputFormat, name: &str) -> Vec<u8> {
    let path = temporary(name);
    write_file(store, &path, format).expect("a writable folder");
    let bytes = std::fs::read(&path).expect("the file just written");
    std::fs::remove_file(&path).expect("the file just written");
    bytes
}

/// Returns each span with its texts. The tests compare texts because the numbers of equal texts may
/// differ between two stores.
fn in_words(store: &SpanStore) -> Vec<(Span, [String; 3])> {
    let words = |span: &Span| {
        let texts = [span.name, span.service, span.host].map(|id| store.texts.text(id).to_owned());
        (
            Span {
                name: 0,
                service: 0,
                host: 0,
                ..*span
            },
            texts,
        )
    };
    store.spans.iter().map(words).collect()
}

#[test]
fn both_formats_come_back_as_they_were_written() {
    let store = random_forest(11, 40, 30, 5);
    for (format, name) in [(OutputFormat::Json, "j"), (OutputFormat::Protobuf, "p")] {
        let back = read(&written(&store, format, name));
        assert_eq!(in_words(&back), in_words(&store));
        assert_eq!(
            report_of(&profile_of(&back)),
            report_of(&profile_of(&store))
        );
    }
}

#[test]
fn many_spans_become_several_messages_that_read_as_one() {
    let store = hdfs_like(90, 5);
    assert!(store.spans.len() > 65_536);
    let json = written(&store, OutputFormat::Json, "lines");
    assert!(json.iter().filter(|&&byte| byte == b'\n').count() > 1);
    assert_eq!(in_words(&read(&json)), in_words(&store));
    let protobuf = written(&store, OutputFormat::Protobuf, "messages");
    assert_eq!(in_words(&read(&protobuf)), in_words(&store));
    let whole = TracesData::decode(protobuf.as_slice()).expect("valid OTLP");
    let spans = |resource: &ResourceSpans| resource.scope_spans[0].spans.len();
    assert_eq!(
        whole.resource_spans.iter().map(spans).sum::<usize>(),
        store.spans.len()
    );
}

#[test]
fn a_document_a_line_costs_no_more_than_one_document() {
    let line = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":
        "5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"}]}]}]}"#;
    let lines = line.replace('\n', "") + "\r\n\n";
    let seconds_of = |count: usize| {
        let text = lines.repeat(count);
        let start = std::time::Instant::now();
        assert_eq!(read(text.as_bytes()).spans.len(), count);
        start.elapsed().as_secs_f64()
    };
    let (few, many) = (seconds_of(10_000), seconds_of(100_000));
    // `few` is the time for a number of lines, and `many` is the time for ten times as many. If
    // each line required reading the whole file again, `many` would be a hundred times `few`.
    assert!(many < 50.0 * few, "{many} s against {few} s");
}

/// Creates a trace that has every element of OTLP that this crate ignores.
fn ornate() -> TracesData {
    let bytes = written(
        &random_forest(12, 3, 9, 2),
        OutputFormat::Protobuf,
        "ornate",
    );
    let mut traces = TracesData::decode(bytes.as_slice()).expect("valid OTLP");
    let value = |value| Some(AnyValue { value: Some(value) });
    let list = ArrayValue {
        values: vec![AnyValue {
            value: Some(Value::BoolValue(true)),
        }],
    };
    let pair = |key: &str, any: Option<AnyValue>| KeyValue {
        key: key.to_owned(),
        value: any,
        ..KeyValue::default()
    };
    for resource_spans in &mut traces.resource_spans {
        resource_spans.schema_url = "schema".to_owned();
        for span in &mut resource_spans.scope_spans[0].spans {
            span.trace_state = "vendor=1".to_owned();
            span.flags = 0x101;
            span.dropped_attributes_count = 3;
            span.attributes
                .push(pair("list", value(Value::ArrayValue(list.clone()))));
            span.attributes.push(pair("nothing", None));
            span.attributes
                .push(pair("real", value(Value::DoubleValue(0.5))));
            span.attributes
                .push(pair("raw", value(Value::BytesValue(vec![0, 255]))));
            span.events.push(Event {
                time_unix_nano: 1,
                name: "e".into(),
                ..Event::default()
            });
            span.links.push(Link {
                trace_id: vec![1; 16],
                ..Link::default()
            });
        }
    }
    traces
}

#[test]
fn unknown_ornaments_are_passed_over_alike() {
    let traces = ornate();
    let plain = random_forest(12, 3, 9, 2);
    let json = serde_json::to_vec_pretty(&traces).expect("valid OTLP");
    assert_eq!(in_words(&read(&json)), in_words(&plain));
    assert_eq!(in_words(&read(&traces.encode_to_vec())), in_words(&plain));
}

#[test]
fn every_framing_is_recognised() {
    let traces = ornate();
    let parts = [&traces, &TracesData::default(), &traces];
    let (mut varint, mut fixed, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        part.encode_length_delimited(&mut varint)
            .expect("a growing vector");
        fixed.extend((part.encoded_len() as u32).to_be_bytes());
        fixed.extend(part.encode_to_vec());
        bare.extend(part.encode_to_vec());
    }
    let expected = in_words(&read(&bare));
    assert_eq!(in_words(&read(&varint)), expected);
    assert_eq!(in_words(&read(&fixed)), expected);
}

#[test]
fn the_best_size_key_wins_and_numbers_come_in_every_form() {
    let sizes = [
        (r#"{"key":"bytes","value":{"intValue":"7"}}"#, 7, 0),
        (r#"{"key":"size_bytes","value":{"intValue":7}}"#, 7, 0),
        (
            r#"{"key":"dfslab.size_bytes","value":{"doubleValue":7.0}}"#,
            7,
            0,
        ),
        (r#"{"key":"bytes","value":{"stringValue":"7"}}"#, 7, 0),
        (
            r#"{"key":"bytes","value":{"intValue":"1"}},
               {"key":"dfslab.size_bytes","value":{"intValue":"7"}},
               {"key":"size_bytes","value":{"intValue":"2"}}"#,
            7,
            0,
        ),
        (r#"{"key":"bytes","value":{"intValue":"-1"}}"#, 0, 1),
        (r#"{"key":"bytes","value":{"stringValue":"many"}}"#, 0, 1),
        (
            r#"{"key":"bytes","value":{"arrayValue":{"values":[]}}}"#,
            0,
            1,
        ),
        (r#"{"key":"other","value":{"intValue":"7"}}"#, 0, 0),
    ];
    for (attributes, bytes, bad_sizes) in sizes {
        let document = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":
            "5b8efff798038103d269b633813fc60c","spanId":"EEE19B7EC3C1B174","name":"read",
            "startTimeUnixNano":"1544712660000000000","endTimeUnixNano":1544712661000000000,
            "status":{{"code":2}},"attributes":[{attributes}]}}]}}]}}]}}"#
        );
        let store = read(document.as_bytes());
        let span = store.spans[0];
        assert_eq!(
            (span.bytes, store.losses.bad_sizes),
            (bytes, bad_sizes),
            "{attributes}"
        );
        assert_eq!(span.duration_ns(), 1_000_000_000);
        assert_eq!(
            (span.span_id, span.status_error),
            (0xeee1_9b7e_c3c1_b174, true)
        );
    }
}

#[test]
fn several_files_share_their_traces() {
    let store = random_forest(13, 20, 20, 3);
    let (mut left, mut right) = (store.clone(), store.clone());
    left.spans.retain(|span| span.span_id.is_multiple_of(2));
    right.spans.retain(|span| span.span_id % 2 == 1);
    let (left_path, right_path) = (temporary("left"), temporary("right"));
    write_file(&left, &left_path, OutputFormat::Json).expect("a writable folder");
    write_file(&right, &right_path, OutputFormat::Protobuf).expect("a writable folder");
    let mut both = SpanStore::default();
    for path in [&left_path, &right_path] {
        read_file(path, &mut both).expect("a trace just written");
        std::fs::remove_file(path).expect("a trace just written");
    }
    assert_eq!(
        report_of(&profile_of(&both)),
        report_of(&profile_of(&store))
    );
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = temporary("folder");
    std::fs::create_dir(&folder).expect("a new folder");
    let target = folder.join("taken");
    std::fs::create_dir(&target).expect("a new folder");
    let error = write_file(&hdfs_like(1, 1), &target, OutputFormat::Json).unwrap_err();
    assert!(error.to_string().starts_with("writing trace "), "{error}");
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1);
    std::fs::remove_dir(&target).expect("an empty folder");
    std::fs::remove_dir(&folder).expect("an empty folder");
}

/// Returns the members of a JSON span with this id, time and attributes. The arguments are inserted
/// without a check, so that a test can pass unusual or invalid ones.
fn members(id: &str, time: &str, attributes: &str) -> String {
    let ends = r#""droppedAttributesCount":0,"events":[],"droppedEventsCount":0,"links":[]"#;
    format!(r#""traceId":"{id}","spanId":"0123456789abcdef","parentSpanId":"{id}","name":"n","#)
        + &format!(r#""startTimeUnixNano":"{time}","endTimeUnixNano":"{time}","attributes":"#)
        + &format!(r#"{attributes},{ends},"droppedLinksCount":0,"status":null"#)
}

#[test]
fn the_short_way_through_json_leads_where_the_long_one_does() {
    let digits = "f0E1d2C3b4A59687f0E1d2C3b4A59687f0E1d2C3b4A59687";
    let mut spans = Vec::new();
    for length in 0..=48 {
        // After an id of 15 or 31 digits, the closing quote is where a valid id has its last digit.
        spans.push(members(&digits[..length], "1700000000000000000", "[]"));
    }
    for wrong in [
        "g0E1d2C3b4A59687f0E1d2C3b4A59687",
        "f0E1d2C3b4A59687f0E1d2C3b4A5968 ",
    ] {
        spans.push(members(wrong, "1700000000000000000", "[]"));
    }
    for length in 1..=20 {
        spans.push(members(
            &digits[..32],
            &"12345678901234567890"[..length],
            "[]",
        ));
    }
    let attribute =
        |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{"intValue":"{value}"}}}}"#);
    let (thread, size) = (
        attribute("thread.id", "7"),
        attribute("dfslab.size_bytes", "65536"),
    );
    for attributes in [
        format!("[{thread}]"),
        format!("[{thread},{size}]"),
        format!("[{thread} , {size} ]"),
        format!(r#"[{size},{{"key":"other","value":{{"stringValue":"7"}}}}]"#),
    ] {
        spans.push(members(&digits[..32], "1700000000000000000", &attributes));
    }
    for span in spans {
        let [short, long] = ["", " "].map(|space| {
            let spans = format!("{{{space}{span}}}");
            let document =
                format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
            let mut store = SpanStore::default();
            let outcome = read_bytes(Path::new("trace"), document.as_bytes(), &mut store);
            (
                outcome.map_err(|error| error.to_string()),
                in_words(&store),
                store.losses,
            )
        });
        assert_eq!(short.1, long.1, "{span}");
        assert_eq!(short.2, long.2, "{span}");
        assert_eq!(short.0.is_ok(), long.0.is_ok(), "{span}");
    }
}
