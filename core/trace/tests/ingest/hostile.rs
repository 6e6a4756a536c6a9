//! Tests that hostile, damaged and foreign files never crash the readers: the result is either an
//! error in one line, or losses that are counted by kind.

use std::path::Path;

use dfslab_trace::{
    profile_files, read_bytes, ErrorKind, FilePosition, OutputFormat, Reading, SpanLosses,
    SpanStore, NAME_BYTES_MAX,
};
use proptest::prelude::*;

use crate::support::{profile_of, random_forest, report_of, temporary, Random};

const TRACE: &str = "0123456789abcdef0123456789abcdef";

fn document(spans: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
}

fn span(trace: &str, id: &str, parent: &str, name: &str) -> String {
    format!(
        r#"{{"traceId":"{trace}","spanId":"{id}","parentSpanId":"{parent}","name":"{name}",
        "startTimeUnixNano":"5","endTimeUnixNano":"9"}}"#
    )
}

fn outcome(bytes: &[u8]) -> Result<SpanLosses, String> {
    let mut store = SpanStore::default();
    match read_bytes(Path::new("evil.otlp"), bytes, &mut store) {
        Ok(()) => {
            let profile = profile_of(&store);
            assert!(profile.spans > 0 && report_of(&profile).len() > 2);
            Ok(profile.losses)
        }
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Input);
            let line = error.to_string();
            assert!(line.starts_with("reading trace evil.otlp"), "{line}");
            assert!(line.len() < 1000 && !line.contains('\n'), "{line}");
            Err(line)
        }
    }
}

fn protobuf() -> Vec<u8> {
    let path = temporary("hostile");
    let store = random_forest(1, 5, 9, 2);
    dfslab_trace::write_file(&store, &path, OutputFormat::Protobuf).expect("a writable folder");
    let bytes = std::fs::read(&path).expect("a trace just written");
    std::fs::remove_file(&path).expect("a trace just written");
    bytes
}

fn assert_refused(bytes: &[u8], expected: &str) {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
    let line = outcome(bytes).expect_err(&shown);
    assert!(line.contains(expected), "{shown:?} gave: {line}");
}

#[test]
fn foreign_files_are_refused_with_one_clear_line() {
    let cases: [(&[u8], &str); 15] = [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (&[0; 64], "the file holds no spans"),
        (b"hello, this is a log file\n", "neither OTLP JSON nor"),
        (b"[1, 2, 3]", "neither OTLP JSON nor OTLP protobuf"),
        (&[0x1f, 0x8b, 8, 0, 0], "compressed with gzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd, 1], "compressed with zstd"),
        (b"{", "line 1 column 1: the file ends within"),
        (b"{}", "line 1 column 2: not an OTLP trace document"),
        (br#"{"traceEvents":[]}"#, "the file holds no spans"),
        (br#"{"resourceMetrics":[]}"#, "it has no key resourceSpans"),
        (b"{\"resourceSpans\":[\"\xff\"]}", "column 21: is text"),
        (br#"{"resourceSpans":[]}"#, "the file holds no spans"),
        (br#"{"resourceSpans":[]} 7"#, "column 22: is "),
        (br#"{"resourceSpans":7}"#, "line 1 column 18: is "),
    ];
    for (bytes, expected) in cases {
        assert_refused(bytes, expected);
    }
}

#[test]
fn malformed_documents_are_refused_with_one_clear_line() {
    let good = span(TRACE, "0000000000000001", "", "read");
    let with = |old: &str, new: &str| document(&good.replace(old, new));
    let nested = "[".repeat(100_000);
    let cases = [
        (
            format!(r#"{{"resourceSpans":{nested}"#),
            "nested too deeply",
        ),
        (
            format!(r#"{{"resourceSpans":[{{"x":{nested}"#),
            "the file ends within",
        ),
        (
            document(&good)[..150].to_owned(),
            "line 2 column 0: the file ends",
        ),
        (document("") + "\n{\"a\":", "line 2 column 5: the file ends"),
        (document(&good) + "\n\n{}", "not an OTLP trace document"),
        (document("7"), "must be a list of spans"),
        (with("\"5\"", "\"x\""), "whole nanoseconds"),
        (with("\"5\"", "-5"), "whole nanoseconds"),
        (with("\"5\"", "1e400"), "number out of range"),
        (with("\"read\"", "7"), "is integer 7, must be text"),
        (with("read", "\\ud800"), "hex escape"),
        (with("read", "a\nb"), "control character"),
        (with(TRACE, "xyz"), "no usable span: 1 dropped"),
        (with("1\"", "0\""), "no usable span: 1 dropped"),
    ];
    for (text, expected) in cases {
        assert_refused(text.as_bytes(), expected);
    }
}

#[test]
fn a_field_of_the_wrong_kind_is_refused_with_its_offset() {
    let mut bytes = protobuf();
    bytes.splice(0..0, [0x0a, 0x06, 0x12, 0x04, 0x12, 0x02, 0x28, 0x01]);
    assert_refused(&bytes, "byte 8: field 5 of a span has the wrong wire type");
}

#[test]
fn every_truncation_of_a_protobuf_is_refused_with_its_offset() {
    let whole = protobuf();
    assert!(outcome(&whole).is_ok());
    for length in 1..whole.len() {
        let line = outcome(&whole[..length]).expect_err("a truncated file");
        if length > 6 {
            assert!(
                line.contains(", byte ") && line.contains("truncated"),
                "{length}: {line}"
            );
        }
    }
}

/// Reads a truncated file. Returns the number of complete spans and the losses, or the error in one
/// line.
fn salvaged(bytes: &[u8], name: &str) -> Result<(u64, SpanLosses), String> {
    let path = temporary(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    let found = profile_files(&[&path], &Reading::default());
    std::fs::remove_file(&path).expect("a file just written");
    match found {
        Ok(profile) => Ok((profile.spans, profile.losses)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn of_a_truncated_file_what_is_whole_is_kept_and_the_rest_is_counted() {
    let whole = protobuf();
    let (all, losses) = salvaged(&whole, "whole").expect("a whole file");
    assert_eq!((losses.truncated_files, losses.missing_bytes), (0, 0));
    let mut latest = 0;
    for length in 8..whole.len() {
        match salvaged(&whole[..length], "cut") {
            Ok((spans, losses)) => {
                assert!(
                    (latest..all).contains(&spans),
                    "{length}: {spans} after {latest}"
                );
                assert_eq!(losses.truncated_files, 1, "{length}");
                assert_eq!(
                    losses.missing_bytes,
                    (whole.len() - length) as u64,
                    "{length}"
                );
                assert!(losses.unread_bytes < length as u64);
                latest = spans;
            }
            Err(line) => assert!(latest == 0 && line.contains(", byte "), "{length}: {line}"),
        }
    }
    assert_eq!(
        latest,
        all - 1,
        "only the last span was lost at the last byte"
    );
    let ids = (1..=20).map(|id| span(TRACE, &format!("{id:016x}"), "", "read"));
    let text = document(&ids.collect::<Vec<_>>().join(","));
    let mut latest = 0;
    for length in 1..text.len() {
        match salvaged(&text.as_bytes()[..length], "text") {
            Ok((spans, losses)) => {
                assert!(spans >= latest, "{length}: {spans} after {latest}");
                assert_eq!(losses.truncated_files, 1, "{length}");
                latest = spans;
            }
            Err(line) => assert!(
                latest == 0 && line.contains("the file ends within"),
                "{length}: {line}"
            ),
        }
    }
    assert_eq!(latest, 20);
}

#[test]
fn damage_that_is_no_end_is_still_refused() {
    let good = span(TRACE, "0000000000000001", "", "read");
    let line = salvaged((document(&good) + "\n{]").as_bytes(), "mid").expect_err("damage");
    assert!(line.contains("line 3 column"), "{line}");
    let mut bytes = protobuf();
    bytes.extend([0x0a, 0x06, 0x12, 0x04, 0x12, 0x02, 0x28, 0x01]);
    let line = salvaged(&bytes, "wire").expect_err("damage");
    assert!(line.contains("wrong wire type"), "{line}");
}

#[test]
fn repaired_or_dropped_and_counted() {
    let (one, two, three) = ("0000000000000001", "0000000000000002", "0000000000000003");
    let first = span(TRACE, one, "", "read");
    let (zero, zeros) = ("0000000000000000", "0".repeat(32));
    let long = "ä".repeat(NAME_BYTES_MAX);
    let timed = |parent, end: &str| span(TRACE, two, parent, "a").replace("\"9\"", end);
    let ring = span(TRACE, two, three, "a") + "," + &span(TRACE, three, two, "b");
    let cases = [
        (span(TRACE, zero, "", "a"), "1 zero_ids"),
        (span(&zeros, two, "", "a"), "1 zero_ids"),
        (span("abc", two, "", "a"), "1 bad_ids"),
        (span(TRACE, "gggggggggggggggg", "", "a"), "1 bad_ids"),
        (span(TRACE, two, two, "a"), "1 self_parents"),
        (span(TRACE, two, "3", "a"), "1 missing_parents"),
        (span(TRACE, two, three, "a"), "1 missing_parents"),
        (span(TRACE, two, zero, "a"), "none"),
        (first.clone(), "1 duplicates"),
        (first.replace("read", "stat"), "1 conflicting_duplicates"),
        (span(TRACE, two, "", &long), "1 long_names"),
        (span(TRACE, two, "", "读\\u0000\\n\u{202e};名/"), "none"),
        (span(TRACE, two, "", ""), "none"),
        (timed("", "\"1\""), "1 end_before_start"),
        (ring, "1 cycles"),
        (timed(one, "\"10\""), "1 outside_parent"),
    ];
    for (second, expected) in cases {
        let text = document(&format!("{first},{second}"));
        let losses = outcome(text.as_bytes()).expect("one sound span");
        assert_eq!(losses.in_words(), expected, "{second:.200}");
    }
}

#[test]
fn a_name_that_is_not_unicode_is_repaired() {
    let mut bytes = protobuf();
    let at = bytes
        .windows(5)
        .position(|window| window == b"call ")
        .expect("a name");
    bytes[at] = 0xff;
    assert_eq!(outcome(&bytes).expect("the rest is sound").bad_text, 1);
}

#[test]
fn extreme_times_add_up_without_overflow() {
    let longest = |id: u64| {
        let span = span(TRACE, &format!("{id:016x}"), "", "eternity");
        span.replace("\"5\"", "0")
            .replace("\"9\"", &format!("\"{}\"", u64::MAX))
    };
    let spans: Vec<String> = (1..=50).map(longest).collect();
    let mut store = SpanStore::default();
    let text = document(&spans.join(","));
    read_bytes(Path::new("t"), text.as_bytes(), &mut store).expect("valid OTLP");
    let profile = profile_of(&store);
    assert_eq!(
        profile.nodes()[0].statistics.total_ns,
        50 * u128::from(u64::MAX)
    );
    assert!(report_of(&profile).contains(&(50 * u128::from(u64::MAX)).to_string()));
}

#[test]
fn a_file_that_is_not_there_and_a_folder_are_the_callers_mistake() {
    for path in [temporary("absent"), std::env::temp_dir()] {
        let error = profile_files(&[&path], &Reading::default()).expect_err("nothing to read");
        assert_eq!(
            (error.kind, error.place),
            (ErrorKind::Input, FilePosition::Whole),
            "{error}"
        );
    }
}

proptest! {
    #[test]
    fn flipped_bytes_never_crash(seed: u64) {
        let mut bytes = protobuf();
        let mut random = Random(seed);
        for _ in 0..=random.below(20) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }
        drop(outcome(&bytes));
        let mut text = document(&span(TRACE, "0000000000000001", "", "read")).into_bytes();
        let at = random.below(text.len() as u64) as usize;
        text[at] = random.next() as u8;
        drop(outcome(&text));
    }

    #[test]
    fn noise_never_crashes(bytes: Vec<u8>) {
        drop(outcome(&bytes));
    }
}
