//! The POSIX and null targets end to end: operations, content, safety, interruption.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dfslab_load::{run, Control, ErrorKind, Plan};
use dfslab_workload::{encode, Stream};

/// A directory of the test's own, removed at its end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dfslab-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Place(path)
    }

    fn entries(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn plan_text(root: &Path, mix: &[&str], extra: &str) -> String {
    let mix: Vec<String> =
        mix.iter().map(|o| format!(r#"{{"operation":"{o}","weight":1.0}}"#)).collect();
    format!(
        r#"{{"stream":{{"seed":11,"clients":3,"operations_per_client":60,"files_per_client":8,
        "mix":[{}],"file_size":{{"uniform":{{"low":1,"high":300000}}}},
        "transfer_size_bytes":65536,"file_choice":"uniform"}},
        "target":{{"kind":"posix","root":{:?}}},"run_directory":"dfslab-run"{extra}}}"#,
        mix.join(","),
        root.display().to_string(),
    )
}

const EVERYTHING: [&str; 9] =
    ["read", "write", "append", "create", "stat", "list", "rename", "delete", "mkdir"];

#[test]
fn every_operation_works_is_verified_and_leaves_nothing() {
    let place = Place::new("everything");
    let extra = r#","verify":"inline","record":true,"spans":{"limit":100000}"#;
    let plan = Plan::parse(&plan_text(&place.0, &EVERYTHING, extra)).unwrap();
    let outcome = run(&plan, &Control::default()).unwrap();
    let report = &outcome.report;
    assert!(report.complete, "{:?}", report.errors);
    assert!(report.errors.is_empty());
    let counted: u64 = report.operations.values().map(|o| o.count).sum();
    assert_eq!(counted, 180);
    assert_eq!(report.verified_bytes, report.operations["read"].bytes);
    let expected: Vec<u8> =
        (0..3).flat_map(|c| encode(&Stream::new(&plan.stream, c).collect::<Vec<_>>())).collect();
    assert_eq!(outcome.recorded, expected);
    let roots = outcome.spans.iter().filter(|span| span.parent_id == 0).count();
    assert_eq!(roots, 180);
    assert_eq!(place.entries(), 0);
}

#[test]
fn a_flipped_byte_is_found() {
    let place = Place::new("flipped");
    let kept = r#","keep":true"#;
    let plan = Plan::parse(&plan_text(&place.0, &["write"], kept)).unwrap();
    run(&plan, &Control::default()).unwrap();
    let mut files: Vec<PathBuf> =
        fs::read_dir(place.0.join("dfslab-run/c0")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut bytes = fs::read(&files[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let file: u64 = files[0].file_name().unwrap().to_str().unwrap()[1..].parse().unwrap();
    let content = dfslab_load::content_of(&plan);
    assert_eq!(content.first_difference(0, file, 0, &bytes[..middle]), None);
    assert_eq!(content.first_difference(0, file, 0, &bytes), Some(middle as u64));
}

#[test]
fn direct_io_and_sync_work_where_the_file_system_can() {
    let place = Place::new("direct");
    let mut text = plan_text(&place.0, &["write", "read"], r#","verify":"after""#);
    text = text.replace(r#"{"uniform":{"low":1,"high":300000}}"#, r#"{"fixed":131072}"#);
    text = text.replace(r#""kind":"posix""#, r#""kind":"posix","direct":true,"fsync":"close""#);
    let plan = Plan::parse(&text).unwrap();
    let outcome = run(&plan, &Control::default()).unwrap();
    assert!(outcome.report.complete, "{:?}", outcome.report.errors);
    assert!(outcome.report.steps.contains_key("write/fsync"));
    assert!(outcome.report.verified_bytes > 0);
}

#[test]
fn roots_that_cannot_be_are_input_errors() {
    let place = Place::new("roots");
    let file = place.0.join("file");
    fs::write(&file, "x").unwrap();
    for root in [place.0.join("missing"), file.clone()] {
        let plan = Plan::parse(&plan_text(&root, &["write"], "")).unwrap();
        let error = run(&plan, &Control::default()).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Input, "{error}");
        assert!(error.to_string().contains("target.root"));
    }
    assert_eq!(fs::read(&file).unwrap(), b"x");
}

#[test]
fn what_is_there_already_is_never_touched() {
    let place = Place::new("taken");
    let elsewhere = Place::new("elsewhere");
    std::os::unix::fs::symlink(&elsewhere.0, place.0.join("dfslab-run")).unwrap();
    let plan = Plan::parse(&plan_text(&place.0, &["write"], "")).unwrap();
    let error = run(&plan, &Control::default()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Input);
    assert_eq!(elsewhere.entries(), 0);
    fs::remove_file(place.0.join("dfslab-run")).unwrap();
    fs::create_dir(place.0.join("dfslab-run")).unwrap();
    fs::write(place.0.join("dfslab-run/mine"), "mine").unwrap();
    assert!(run(&plan, &Control::default()).is_err());
    assert_eq!(fs::read(place.0.join("dfslab-run/mine")).unwrap(), b"mine");
}

#[test]
fn a_stopped_run_is_a_valid_partial_result_and_leaves_nothing() {
    let place = Place::new("stopped");
    let text = plan_text(&place.0, &["write"], "")
        .replace(r#""operations_per_client":60"#, r#""operations_per_client":100000"#);
    let plan = Plan::parse(&text).unwrap();
    let control = Arc::new(Control::default());
    let other = Arc::clone(&control);
    let stopper = std::thread::spawn(move || {
        while other.progress().0 < 20 {
            std::thread::yield_now();
        }
        other.stop();
    });
    let outcome = run(&plan, &control).unwrap();
    stopper.join().unwrap();
    assert!(!outcome.report.complete);
    let count = outcome.report.operations["write"].count;
    assert!((20..300_000).contains(&count), "{count}");
    assert_eq!(place.entries(), 0);
}

#[test]
fn capabilities_are_checked_before_anything_is_made() {
    let text = r#"{"stream":{"seed":1,"clients":1,"operations_per_client":1,"files_per_client":1,
        "mix":[{"operation":"read","weight":1}],"file_size":{"fixed":4096},
        "transfer_size_bytes":4096},"target":{"kind":"null"},"run_directory":"x","verify":"inline"}"#;
    let error = Plan::parse(text).unwrap_err();
    assert!(error.to_string().contains("null cannot verify content"), "{error}");
    for wrong in ["../x", "", ".hidden", "a/b"] {
        let text = text.replace(r#""x""#, &format!("{wrong:?}"));
        assert!(Plan::parse(&text).unwrap_err().to_string().contains("run_directory"));
    }
}

#[test]
fn the_time_limit_ends_a_run() {
    let place = Place::new("limit");
    let text = plan_text(&place.0, &["stat"], r#","time_limit_s":0.05"#)
        .replace(r#""operations_per_client":60"#, r#""operations_per_client":100000000"#);
    let plan = Plan::parse(&text).unwrap();
    let outcome = run(&plan, &Control::default()).unwrap();
    assert!(!outcome.report.complete);
    assert!(outcome.report.window_s < 1.0);
}
