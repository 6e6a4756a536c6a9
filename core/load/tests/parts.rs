//! Tests of runs in several shards, each of which runs some of the clients: the shards start at a
//! common instant and share a directory, and their reports merge without loss.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dfslab_load::{run, Control, Outcome, Plan, Report};
use dfslab_stats::{Histogram, Summary};
use dfslab_workload::{encode, Stream, ENCODED_BYTES};

const CLIENTS: u32 = 5;
/// Number of bytes of a recorded operation: its encoding and the start.
const RECORDED: usize = ENCODED_BYTES + 8;

fn plan(root: &str, from: u32, to: u32) -> Plan {
    Plan::parse(&format!(
        r#"{{"stream":{{"seed":3,"clients":{CLIENTS},"operations_per_client":40,
        "files_per_client":6,"mix":[{{"operation":"read","weight":1}},
        {{"operation":"write","weight":1}},{{"operation":"rename","weight":1}}],
        "file_size":{{"uniform":{{"low":1,"high":30000}}}},"transfer_size_bytes":4096}},
        "target":{{"kind":"posix","root":{root:?}}},"run_directory":"dfslab-parts",
        "clients_from":{from},"clients_to":{to},"shared":true,"record":true,"verify":"inline"}}"#
    ))
    .unwrap()
}

fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dfslab-parts-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

/// Runs clients 0-1 and 2-4 as two shards, whose barriers open at the same instant. Returns the
/// outcomes of both.
fn in_two_parts(root: &str) -> Vec<Outcome> {
    let parts = [(0, 2), (2, CLIENTS)].map(|(from, to)| {
        let (plan, control) = (plan(root, from, to), Arc::new(Control::with_barrier()));
        let its = Arc::clone(&control);
        (control, std::thread::spawn(move || run(&plan, &its)))
    });
    while !parts.iter().all(|(control, _)| control.waiting()) {
        std::thread::yield_now();
    }
    let start = Instant::now() + Duration::from_millis(50);
    parts
        .iter()
        .for_each(|(control, _)| control.start_at(start));
    let outcome = |(_, thread): (_, std::thread::JoinHandle<_>)| thread.join().unwrap();
    parts.map(|part| outcome(part).unwrap()).into()
}

#[test]
fn two_parts_do_what_one_run_does() {
    let root = directory("two");
    let outcomes = in_two_parts(&root.display().to_string());
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    let rows = outcomes.iter().flat_map(|o| o.recorded.chunks(RECORDED));
    let recorded: Vec<u8> = rows.flat_map(|row| row[..ENCODED_BYTES].to_vec()).collect();
    let whole = plan(&root.display().to_string(), 0, CLIENTS).stream;
    let all = (0..CLIENTS).flat_map(|c| encode(&Stream::new(&whole, c).collect::<Vec<_>>()));
    assert_eq!(recorded, all.collect::<Vec<u8>>());
    let (mut merged, other) = (outcomes[0].report.clone(), &outcomes[1].report);
    merged.merge(other);
    assert!(merged.complete, "{:?}", merged.errors);
    let clients: Vec<u32> = merged.per_client.iter().map(|c| c.client).collect();
    assert_eq!(clients, [0, 1, 2, 3, 4]);
    assert_eq!(
        merged.operations.values().map(|o| o.count).sum::<u64>(),
        200
    );
    assert_eq!(merged.window_s, merged.window_s.max(other.window_s));
    assert!((merged.rate_per_s * merged.window_s - 200.0).abs() < 1e-9);
    let starts = merged.per_client.iter().map(|c| c.first_start_s);
    assert!(starts.clone().fold(0.0, f64::max) < 0.5, "a common start");
    let apart = merged
        .start_unix_ns
        .abs_diff(outcomes[1].report.start_unix_ns);
    assert!(apart < 5_000_000, "zeros are {apart} ns apart");
    fs::remove_dir(&root).unwrap();
}

#[test]
fn merged_reports_equal_the_report_of_one_recorder() {
    let root = directory("merge");
    let outcomes = in_two_parts(&root.display().to_string());
    fs::remove_dir(&root).unwrap();
    let (one, two) = (&outcomes[0].report, &outcomes[1].report);
    let merged = |a: &Report, b: &Report| {
        let mut sum = a.clone();
        sum.merge(b);
        sum
    };
    let (forwards, backwards) = (merged(one, two), merged(two, one));
    // `assert!` is used because `assert_eq!` would print the 7424 numbers of a histogram on
    // failure.
    assert!(forwards == backwards);
    for (name, operation) in &forwards.operations {
        let mut whole = Histogram::new();
        for part in [one, two] {
            if let Some(observed) = part.operations.get(name) {
                whole.merge(&observed.histogram);
            }
        }
        assert!(operation.histogram == whole, "{name}");
        assert_eq!(operation.latency, Summary::from(&whole));
    }
    let text = serde_json::to_string(&forwards).unwrap();
    assert!(serde_json::from_str::<Report>(&text).unwrap() == forwards);
}

#[test]
fn a_run_that_is_stopped_at_its_barrier_leaves_nothing() {
    let root = directory("barrier");
    let plan = plan(&root.display().to_string(), 1, 3);
    let control = Arc::new(Control::with_barrier());
    let its = Arc::clone(&control);
    let thread = std::thread::spawn(move || run(&plan, &its));
    while !control.waiting() {
        std::thread::yield_now();
    }
    assert_eq!(fs::read_dir(root.join("dfslab-parts")).unwrap().count(), 2);
    control.stop();
    let report = thread.join().unwrap().unwrap().report;
    assert!(!report.complete);
    assert_eq!(report.clients, 2);
    fs::remove_dir(&root).unwrap();
}

#[test]
fn parts_that_cannot_be_are_refused() {
    let text = r#"{"stream":{"seed":3,"clients":5,"operations_per_client":4,"files_per_client":1,
        "mix":[{"operation":"stat","weight":1}],"file_size":{"fixed":1},"transfer_size_bytes":1},
        "target":{"kind":"null"},"run_directory":"d","clients_from":FROM,"clients_to":TO}"#;
    for (from, to) in [("3", "3"), ("4", "2"), ("0", "6"), ("7", "null")] {
        let error = Plan::parse(&text.replace("FROM", from).replace("TO", to)).unwrap_err();
        assert!(error.to_string().contains("parts of 0..5"), "{error}");
    }
}
