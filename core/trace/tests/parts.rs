//! Tests that shards that are read separately can be merged in any order and grouping. Every merge
//! gives the same result, to the byte.

mod support;

use std::path::PathBuf;

use dfslab_trace::{
    merge_parts, savings_of_sample, sharing, summarise_files, write_file, OutputFormat, Part,
    Reading, Report, ReportOptions, Selection, SpanStore, TraceSummary, Window,
};
use support::{random_forest, temporary, Random};

fn text(summary: &TraceSummary) -> String {
    let options = ReportOptions::default();
    let savings = savings_of_sample(&summary.sample, summary.trees_left_out, &options);
    let report = Report {
        savings: Some(savings),
        ..Report::of(&summary.profile, &options)
    };
    serde_json::to_string(&report).expect("a report is plain data")
}

fn half() -> Reading {
    Reading {
        sampled: 0.5,
        ..Reading::default()
    }
}

fn part(paths: &[PathBuf]) -> Part {
    let summary = summarise_files(paths, Window::default(), &half()).expect("sound files");
    let name = paths[0].display().to_string();
    let bytes = Part::of(&name, &summary).to_bytes().expect("plain data");
    Part::from_bytes(&bytes).expect("as it was written")
}

/// Writes trace files and returns their paths. If `shared` is true, each file has some spans of
/// every trace; otherwise each file has a few complete traces.
fn files(name: &str, shared: bool) -> Vec<PathBuf> {
    let store = random_forest(5, 400, 12, 6);
    let number = |path: u64| temporary(&format!("{name}-{path}"));
    let paths: Vec<PathBuf> = (0..6).map(number).collect();
    for (place, path) in (0u128..).zip(&paths) {
        let mut own = SpanStore {
            texts: store.texts.clone(),
            ..SpanStore::default()
        };
        let mine = |at: usize| {
            let key = if shared {
                at as u128
            } else {
                store.spans[at].trace_id >> 64
            };
            key % 6 == place
        };
        own.spans = (0..store.spans.len())
            .filter(|&at| mine(at))
            .map(|at| store.spans[at])
            .collect();
        write_file(&own, path, OutputFormat::Protobuf).expect("a writable folder");
    }
    paths
}

fn remove(paths: &[PathBuf]) {
    for path in paths {
        std::fs::remove_file(path).expect("a file of this test");
    }
}

#[test]
fn any_order_of_parts_gives_the_bytes_of_one_reader() {
    let paths = files("apart", false);
    let whole = summarise_files(&paths, Window::default(), &half()).expect("sound files");
    let mut parts: Vec<Part> = paths
        .iter()
        .map(|path| part(std::slice::from_ref(path)))
        .collect();
    // Gains from faster steps are not compared, because their last digits may differ. The replay
    // depends on the indices of texts, which differ between readers.
    let profile = |summary: &TraceSummary| Report::of(&summary.profile, &ReportOptions::default());
    let one = text(&merge_parts(parts.clone(), Selection::default()));
    assert!(profile(&merge_parts(parts.clone(), Selection::default())) == profile(&whole));
    let mut random = Random(7);
    for _ in 0..5 {
        random.shuffle(&mut parts);
        assert!(sharing(&parts).is_empty());
        assert!(text(&merge_parts(parts.clone(), Selection::default())) == one);
    }
    let pairs = paths.chunks(2).map(part).collect();
    assert!(profile(&merge_parts(pairs, Selection::default())) == profile(&whole));
    remove(&paths);
}

#[test]
fn files_that_share_traces_are_distinguished_from_others() {
    let shared = files("shared", true);
    let mut parts: Vec<Part> = shared
        .iter()
        .map(|path| part(std::slice::from_ref(path)))
        .collect();
    assert_eq!(sharing(&parts), [[0, 1, 2, 3, 4, 5]]);
    parts.truncate(1);
    parts.push(part(&shared[1..3]));
    assert_eq!(sharing(&parts), [[0, 1]]);
    remove(&shared);
}

#[test]
fn bytes_of_something_else_are_refused() {
    for bytes in [&b""[..], b"{}", b"[1]", b"\xff"] {
        assert!(Part::from_bytes(bytes).is_err());
    }
}
