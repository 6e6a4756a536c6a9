//! Tests that no data are lost, whatever the size of the window. Sums must be exact. Spans that
//! arrive too late for their tree are put into separate trees and must be counted.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use dfslab_trace::{
    summarise_files, write_file, OutputFormat, Reading, SpanProfile, SpanStore, SpanStream,
    TraceSummary, Window,
};
use proptest::prelude::*;
use support::{hdfs_like, profile_of, random_forest, report_of, temporary, Random};

fn written(store: &SpanStore, format: OutputFormat) -> Vec<u8> {
    let path = temporary("stream");
    write_file(store, &path, format).expect("a writable folder");
    let bytes = std::fs::read(&path).expect("the file just written");
    std::fs::remove_file(&path).expect("the file just written");
    bytes
}

fn streamed(store: &SpanStore, window: Window, format: OutputFormat) -> TraceSummary {
    let mut stream = SpanStream::new(window);
    stream
        .read(Path::new("trace"), &written(store, format)[..])
        .expect("a sound trace");
    stream.finish()
}

fn by_name(profile: &SpanProfile) -> BTreeMap<String, (u64, u128, u128)> {
    let mut sums = BTreeMap::new();
    for node in profile.nodes() {
        let sum: &mut (u64, u128, u128) = sums.entry(profile.name(node).to_owned()).or_default();
        sum.0 += node.statistics.count;
        sum.1 += node.statistics.bytes;
        sum.2 += node.statistics.total_ns;
    }
    sums
}

#[test]
fn traces_that_come_in_order_are_the_same_through_a_small_window() {
    let store = hdfs_like(60, 8);
    let whole = profile_of(&store);
    for format in [OutputFormat::Json, OutputFormat::Protobuf] {
        let window = Window {
            spans: 9000,
            quiet: 2000,
        };
        let TraceSummary {
            profile,
            sample,
            trees_left_out,
            clocks,
        } = streamed(&store, window, format);
        assert_eq!(report_of(&profile), report_of(&whole));
        assert_eq!((sample.trees(), trees_left_out), (60, 0));
        assert_eq!(sample.spans.len(), store.spans.len());
        assert!(clocks.is_empty());
    }
}

#[test]
fn a_trace_larger_than_the_window_is_cut_and_reported() {
    let store = hdfs_like(1, 8);
    let window = Window {
        spans: 100,
        quiet: 10,
    };
    let profile = streamed(&store, window, OutputFormat::Protobuf).profile;
    assert_eq!(by_name(&profile), by_name(&profile_of(&store)));
    assert!(profile.losses.cut_traces > 0 && profile.losses.late_spans > 0);
    assert!(profile.losses.late_spans < store.spans.len() as u64);
}

#[test]
fn late_spans_are_counted_one_by_one() {
    let mut store = hdfs_like(40, 9);
    let late: Vec<_> = store.spans.drain(5..12).collect();
    store.spans.extend(late);
    let window = Window {
        spans: 4000,
        quiet: 1500,
    };
    let profile = streamed(&store, window, OutputFormat::Protobuf).profile;
    assert_eq!(profile.losses.late_spans, 7);
    assert_eq!(by_name(&profile), by_name(&profile_of(&store)));
}

#[test]
fn files_that_share_traces_are_read_side_by_side() {
    let store = hdfs_like(80, 10);
    let whole = profile_of(&store);
    let (mut one, mut other) = (store.clone(), store.clone());
    one.spans.retain(|span| span.span_id % 2 == 0);
    other.spans.retain(|span| span.span_id % 2 == 1);
    let paths = [temporary("even"), temporary("odd")];
    for (part, path) in [&one, &other].into_iter().zip(&paths) {
        write_file(part, path, OutputFormat::Protobuf).expect("a writable folder");
    }
    let window = Window {
        spans: 12_000,
        quiet: 4000,
    };
    let profile = summarise_files(&paths, window, &Reading::default())
        .expect("two sound traces")
        .profile;
    assert_eq!(report_of(&profile), report_of(&whole));
    for path in &paths {
        std::fs::remove_file(path).expect("a trace just written");
    }
}

#[test]
fn a_snapshot_holds_the_traces_that_have_come_to_rest() {
    let (first, second) = (hdfs_like(3, 1), hdfs_like(4, 1));
    let mut second_only = second.clone();
    second_only.spans.retain(|span| span.trace_id >> 64 == 4);
    let mut stream = SpanStream::new(Window::default());
    let push = |stream: &mut SpanStream, store: &SpanStore| {
        let bytes = written(store, OutputFormat::Protobuf);
        stream
            .read(Path::new("message"), &bytes[..])
            .expect("a sound message");
        stream.merge_quiet();
        stream.snapshot()
    };
    assert_eq!(push(&mut stream, &first).trees, 0);
    assert_eq!(push(&mut stream, &second_only).trees, 3);
    stream.merge_quiet();
    let (snapshot, whole) = (stream.snapshot(), stream.finish().profile);
    assert_eq!(report_of(&snapshot), report_of(&whole));
    assert_eq!(report_of(&whole), report_of(&profile_of(&second)));
}

#[test]
fn endless_names_and_shapes_are_merged_and_counted() {
    let mut store = SpanStore::default();
    let mut random = Random(3);
    for trace in 1..=60_000u64 {
        let name = store.texts.intern(&format!("call {trace}"));
        store.spans.push(dfslab_trace::Span {
            trace_id: u128::from(trace),
            span_id: 1,
            name,
            end_ns: random.below(1000),
            ..Default::default()
        });
    }
    let window = Window {
        spans: 5000,
        quiet: 100,
    };
    let profile = streamed(&store, window, OutputFormat::Protobuf).profile;
    assert_eq!(profile.spans, 60_000);
    assert!(
        profile.losses.merged_names > 20_000,
        "{}",
        profile.losses.in_words()
    );
    assert!(profile.nodes().len() < 40_000);
    let total_ns: u128 = store
        .spans
        .iter()
        .map(|span| u128::from(span.duration_ns()))
        .sum();
    let kept_ns: u128 = profile
        .nodes()
        .iter()
        .map(|node| node.statistics.total_ns)
        .sum();
    assert_eq!(kept_ns, total_ns);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_sum_survives_any_window_and_any_order(
        seed: u64, traces in 1u64..60, spans in 1u64..40, size in 2usize..300, quiet in 1usize..300
    ) {
        let mut store = random_forest(seed, traces, spans, 4);
        let whole = by_name(&profile_of(&store));
        Random(seed).shuffle(&mut store.spans);
        let window = Window { spans: size, quiet: quiet.min(size - 1) };
        let TraceSummary { profile, .. } = streamed(&store, window, OutputFormat::Protobuf);
        prop_assert_eq!(by_name(&profile), whole);
        prop_assert_eq!(profile.spans, store.spans.len() as u64);
    }
}
