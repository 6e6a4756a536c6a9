//! Tests the estimates for traces in which only a sample of the calls was recorded. Counts and sums
//! must be scaled to all calls and marked as estimates.

mod support;

use std::path::Path;

use dfslab_trace::{weight_of, Report, ReportOptions, SpanStream, TreeNode, Window};
use support::Random;

/// Number of traces. Each has a call with two calls below it; the durations identify the trace.
const TRACES: u64 = 40_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Recorded {
    /// The probability is in the trace state of every span.
    TraceState,
    /// The probability is an attribute of every span.
    Attribute,
    /// The probability is in Jaeger's tags, which only the first span of a trace has.
    FirstSpan,
    /// The probability is not recorded; only the user knows it.
    Nowhere,
}

/// Creates the trace of a recorder that samples traces with the given probability. Returns three
/// values: the number of kept traces, the sum of the durations of their first calls in ns, and the
/// OTLP document.
fn recorded(place: Recorded, probability: f64, seed: u64) -> (u64, i128, String) {
    let (mut random, mut spans) = (Random(seed), Vec::new());
    let (mut kept, mut kept_ns) = (0, 0);
    for trace in 1..=TRACES {
        if random.below(1 << 32) as f64 >= probability * 4_294_967_296.0 {
            continue;
        }
        let duration = 1000 + trace % 100;
        kept += 1;
        kept_ns += i128::from(duration);
        for id in 1..=3u64 {
            let more = match place {
                Recorded::TraceState => r#","traceState":"ot=th:c""#.to_owned(),
                Recorded::Attribute => attributes(r#""sampling.probability""#, probability),
                Recorded::FirstSpan if id == 1 => format!(
                    r#","attributes":[{{"key":"sampler.param",
                    "value":{{"doubleValue":{probability}}}}},
                    {{"key":"sampler.type","value":{{"stringValue":"probabilistic"}}}}]"#
                ),
                Recorded::FirstSpan | Recorded::Nowhere => String::new(),
            };
            let (name, parent, end) = match id {
                1 => ("first", String::new(), duration),
                _ => ("below", format!("{:016x}", 1), 10),
            };
            spans.push(format!(
                r#"{{"traceId":"{trace:032x}","spanId":"{id:016x}","parentSpanId":"{parent}",
                "name":"{name}","startTimeUnixNano":"0","endTimeUnixNano":"{end}"{more}}}"#
            ));
        }
    }
    let spans = spans.join(",");
    let document = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
    (kept, kept_ns, document)
}

fn attributes(key: &str, value: f64) -> String {
    format!(r#","attributes":[{{"key":{key},"value":{{"doubleValue":{value}}}}}]"#)
}

fn report(document: &str, assumed: f64) -> Report {
    let mut stream = SpanStream::new(Window::default());
    stream.assume_sampled(assumed);
    stream
        .read(Path::new("sampled"), document.as_bytes())
        .expect("a sound trace");
    Report::of(&stream.finish().profile, &ReportOptions::default())
}

fn first(report: &Report) -> &TreeNode {
    assert_eq!(report.roots.len(), 1);
    &report.roots[0]
}

#[test]
fn planted_counts_come_back_within_the_error_of_the_lot() {
    let cases = [
        (Recorded::TraceState, 0.25),
        (Recorded::Attribute, 0.01),
        (Recorded::FirstSpan, 0.1),
        (Recorded::Nowhere, 0.05),
    ];
    for (seed, (place, probability)) in (1..).zip(cases) {
        let (kept, kept_ns, document) = recorded(place, probability, seed);
        let assumed = if place == Recorded::Nowhere {
            probability
        } else {
            1.0
        };
        let report = report(&document, assumed);
        let sampling = report.sampling.as_ref().expect("the report has it");
        assert!((sampling.probability_least / probability - 1.0).abs() < 1e-6);
        assert_eq!(
            sampling.spans_weighted,
            3 * kept,
            "{place:?}: every span is weighed"
        );
        assert_eq!((report.spans, report.trees), (3 * kept, kept));
        let node = first(&report);
        assert_eq!(node.read, kept);
        // `error` is the standard error of the estimated number of traces, which follows from the
        // binomial distribution of the number of kept traces. The tolerance is five standard
        // errors.
        let error = (TRACES as f64 * (1.0 - probability) / probability).sqrt();
        let missed = (node.count as f64 - TRACES as f64).abs();
        assert!(
            missed < 5.0 * error,
            "{place:?}, seed {seed}: {missed} of {error}"
        );
        // The estimate must be exactly the recorded amount divided by the probability. The estimate
        // is therefore wrong only by the recorder's random choice of traces.
        let exact = |kept: f64, found: f64| (found * probability / kept - 1.0).abs() < 1e-5;
        assert!(
            exact(kept as f64, node.count as f64),
            "{place:?}: {}",
            node.count
        );
        assert!(exact(kept_ns as f64, node.total_ns as f64), "{place:?}");
        assert!(
            exact(2.0 * kept as f64, node.children[0].count as f64),
            "{place:?}"
        );
        assert_eq!(report.rankings.ranking[0].count, node.count);
        assert!(
            (report
                .rankings
                .ranking
                .iter()
                .map(|one| one.share)
                .sum::<f64>()
                - 1.0)
                .abs()
                < 1e-9
        );
    }
}

#[test]
fn what_is_not_sampled_stays_exact_and_unmarked() {
    let (kept, kept_ns, document) = recorded(Recorded::Nowhere, 0.02, 9);
    let report = report(&document, 1.0);
    let node = first(&report);
    assert_eq!(report.sampling, None);
    assert_eq!((node.count, node.total_ns), (kept.into(), kept_ns));
}

#[test]
fn what_cannot_be_a_probability_is_not_believed() {
    for place in ["0", "-1", "2", "1e-300"] {
        let document = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{:032x}",
            "spanId":"{:016x}",
            "name":"a","startTimeUnixNano":"0","endTimeUnixNano":"5","traceState":"ot=p:63",
            "attributes":[{{"key":"sampling.probability",
            "value":{{"doubleValue":{place}}}}}]}}]}}]}}]}}"#,
            1, 1
        );
        let report = report(&document, 1.0);
        assert_eq!(
            (report.sampling.clone(), first(&report).count),
            (None, 1),
            "{place}"
        );
    }
    assert!(weight_of(f64::INFINITY).is_none());
}

#[test]
fn jaeger_and_protobuf_record_the_probability_too() {
    let jaeger = r#"{"data": [{"traceID": "abc", "spans": [
        {"traceID": "abc", "spanID": "1", "operationName": "put", "startTime": 5, "duration": 9,
         "tags": [{"key": "sampler.type", "value": "probabilistic"},
                  {"key": "sampler.param", "value": 0.5}]},
        {"traceID": "abc", "spanID": "2", "operationName": "rpc", "startTime": 6, "duration": 2,
         "references": [{"refType": "CHILD_OF", "traceID": "abc", "spanID": "1"}]}]}]}"#;
    let found = report(jaeger, 1.0);
    assert_eq!(
        (first(&found).count, first(&found).children[0].count),
        (2, 2)
    );
    let mut span: Vec<u8> = vec![0x0a, 16];
    span.extend([7; 16]);
    span.extend([0x12, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    span.extend(b"\x1a\x07ot=th:8\x2a\x01a");
    span.extend([0x39, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 9, 0, 0, 0, 0, 0, 0, 0]);
    let mut bytes = span;
    for tag in [0x12, 0x12, 0x0a] {
        bytes.splice(0..0, [tag, bytes.len() as u8]);
    }
    let mut stream = SpanStream::new(Window::default());
    stream
        .read(Path::new("protobuf"), &bytes[..])
        .expect("a sound trace");
    let found = Report::of(&stream.finish().profile, &ReportOptions::default());
    assert_eq!((first(&found).count, first(&found).read), (2, 1));
}
