//! Tests of the POSIX and null targets by whole runs: operations, content, safety and interruption.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dfslab_load::{run, Control, ErrorKind, Plan};
use dfslab_workload::{encode, Stream, ENCODED_BYTES};

/// A directory that exists for one test and is removed at its end.
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
    let mix: Vec<String> = mix
        .iter()
        .map(|o| format!(r#"{{"operation":"{o}","weight":1.0}}"#))
        .collect();
    format!(
        r#"{{"stream":{{"seed":11,"clients":3,"operations_per_client":60,"files_per_client":8,
        "mix":[{}],"file_size":{{"uniform":{{"low":1,"high":300000}}}},
        "transfer_size_bytes":65536,"file_choice":"uniform"}},
        "target":{{"kind":"posix","root":{:?}}},"run_directory":"dfslab-run"{extra}}}"#,
        mix.join(","),
        root.display().to_string(),
    )
}

const EVERYTHING: [&str; 22] = [
    "read",
    "write",
    "append",
    "create",
    "stat",
    "list",
    "rename",
    "delete",
    "mkdir",
    "open",
    "close",
    "pread",
    "pwrite",
    "fsync",
    "overwrite",
    "exists",
    "rmdir",
    "truncate",
    "chmod",
    "set_xattr",
    "get_xattr",
    "lock",
];

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
    let read = report.operations["read"].bytes + report.operations["pread"].bytes;
    assert_eq!(report.verified_bytes, read);
    assert!(read > 0);
    let expected: Vec<u8> = (0..3)
        .flat_map(|c| encode(&Stream::new(&plan.stream, c).collect::<Vec<_>>()))
        .collect();
    let rows = outcome.recorded.chunks(ENCODED_BYTES + 8);
    let (reported, begun): (Vec<_>, Vec<_>) = rows.map(|row| row.split_at(ENCODED_BYTES)).unzip();
    assert_eq!(reported.concat(), expected);
    let begun_ns = |row: &&[u8]| u64::from_le_bytes((*row).try_into().unwrap());
    assert!(begun.chunks(60).all(|its| its.is_sorted_by_key(begun_ns)));
    let roots = outcome
        .spans
        .iter()
        .filter(|span| span.parent_id == 0)
        .count();
    assert_eq!(roots, 180);
    assert_eq!(place.entries(), 0);
}

#[test]
fn a_flipped_byte_is_found() {
    let place = Place::new("flipped");
    let kept = r#","keep":true"#;
    let plan = Plan::parse(&plan_text(&place.0, &["write"], kept)).unwrap();
    run(&plan, &Control::default()).unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(place.0.join("dfslab-run/c0"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let mut bytes = fs::read(&files[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let file: u64 = files[0].file_name().unwrap().to_str().unwrap()[1..]
        .parse()
        .unwrap();
    let content = dfslab_load::content_of(&plan);
    assert_eq!(
        content.first_difference(0, (file, 0), 0, &bytes[..middle]),
        None
    );
    assert_eq!(
        content.first_difference(0, (file, 0), 0, &bytes),
        Some(middle as u64)
    );
}

#[test]
fn direct_io_and_sync_work_where_the_file_system_can() {
    let place = Place::new("direct");
    let mut text = plan_text(&place.0, &["write", "read"], r#","verify":"after""#);
    text = text.replace(
        r#"{"uniform":{"low":1,"high":300000}}"#,
        r#"{"fixed":131072}"#,
    );
    text = text.replace(
        r#""kind":"posix""#,
        r#""kind":"posix","direct":true,"fsync":"close""#,
    );
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
    let text = plan_text(&place.0, &["write"], "").replace(
        r#""operations_per_client":60"#,
        r#""operations_per_client":100000"#,
    );
    let plan = Plan::parse(&text).unwrap();
    let control = Arc::new(Control::default());
    let other = Arc::clone(&control);
    let stopper = std::thread::spawn(move || {
        while other.done() < 20 || other.progress().1 != "running" {
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
        "transfer_size_bytes":4096},"target":{"kind":"null"},
        "run_directory":"x","verify":"inline"}"#;
    let error = Plan::parse(text).unwrap_err();
    assert!(
        error.to_string().contains("null cannot verify content"),
        "{error}"
    );
    for wrong in ["../x", "", ".hidden", "a/b"] {
        let text = text.replace(r#""x""#, &format!("{wrong:?}"));
        assert!(Plan::parse(&text)
            .unwrap_err()
            .to_string()
            .contains("run_directory"));
    }
}

#[test]
fn the_time_limit_ends_a_run() {
    let place = Place::new("limit");
    let text = plan_text(&place.0, &["stat"], r#","time_limit_s":0.05"#).replace(
        r#""operations_per_client":60"#,
        r#""operations_per_client":100000000"#,
    );
    let plan = Plan::parse(&text).unwrap();
    let outcome = run(&plan, &Control::default()).unwrap();
    assert!(!outcome.report.complete);
    let done: u64 = outcome.report.operations.values().map(|o| o.count).sum();
    assert!(done < 100_000_000, "{done}");
}

#[test]
fn verification_after_the_run_finds_what_changed_meanwhile() {
    let place = Place::new("changed");
    let text = plan_text(&place.0, &["stat"], r#","verify":"after""#)
        .replace(
            r#""operations_per_client":60"#,
            r#""operations_per_client":20"#,
        )
        .replace(
            r#""transfer_size_bytes":65536"#,
            r#""transfer_size_bytes":65536,"think_time_s":0.05"#,
        );
    let plan = Plan::parse(&text).unwrap();
    let control = Arc::new(Control::default());
    let other = Arc::clone(&control);
    let victim = place.0.join("dfslab-run/c1/f3");
    let spoiler = std::thread::spawn(move || {
        while other.progress().1 != "running" {
            std::thread::yield_now();
        }
        let mut bytes = fs::read(&victim).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&victim, bytes).unwrap();
        last
    });
    let outcome = run(&plan, &control).unwrap();
    let last = spoiler.join().unwrap();
    let errors = &outcome.report.errors;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].kind, "corruption");
    let wanted = format!("\"c1/f3\": byte {last} ");
    assert!(errors[0].first.contains(&wanted), "{}", errors[0].first);
    assert!(!outcome.report.complete);
    assert_eq!(place.entries(), 0);
}

#[test]
fn what_others_put_into_the_run_directory_stays() {
    let place = Place::new("foreign");
    let text = plan_text(&place.0, &["write"], r#","max_errors":1000"#).replace(
        r#""transfer_size_bytes":65536"#,
        r#""transfer_size_bytes":65536,"think_time_s":0.01"#,
    );
    let plan = Plan::parse(&text).unwrap();
    let control = Arc::new(Control::default());
    let other = Arc::clone(&control);
    let directory = place.0.join("dfslab-run/c0");
    let foreign = std::thread::spawn(move || {
        while other.progress().1 != "running" {
            std::thread::yield_now();
        }
        // Another writer's file has the path of the last file that the client is going to create.
        fs::write(directory.join("f59"), "theirs").unwrap();
    });
    let outcome = run(&plan, &control).unwrap();
    foreign.join().unwrap();
    let report = &outcome.report;
    assert!(!report.complete);
    assert_eq!(report.operations["write"].errors, 1);
    let kinds: Vec<&str> = report.errors.iter().map(|e| e.operation.as_str()).collect();
    assert!(
        kinds.contains(&"write/create") && kinds.contains(&"clean_up/rmdir"),
        "{kinds:?}"
    );
    let theirs = place.0.join("dfslab-run/c0/f59");
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(theirs.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_long_pause_is_cut_short() {
    let text = NULL.replace(
        r#""transfer_size_bytes":4096"#,
        r#""transfer_size_bytes":4096,"think_time_s":3600"#,
    );
    // A think time comes only between two operations, so this test needs two operations per client.
    let text = text.replace(
        r#""operations_per_client":1,"#,
        r#""operations_per_client":2,"#,
    );
    let plan = Plan::parse(&text).unwrap();
    let control = Arc::new(Control::default());
    let other = Arc::clone(&control);
    let began = std::time::Instant::now();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        other.stop();
    });
    let outcome = run(&plan, &control).unwrap();
    stopper.join().unwrap();
    assert!(!outcome.report.complete);
    assert!(began.elapsed().as_secs() < 10);
}

#[test]
fn the_window_and_the_stonewall_are_those_of_the_clients() {
    let place = Place::new("wall");
    let plan = Plan::parse(&plan_text(&place.0, &["write", "read"], "")).unwrap();
    let report = run(&plan, &Control::default()).unwrap().report;
    let ends: Vec<f64> = report
        .per_client
        .iter()
        .map(|client| client.last_end_s)
        .collect();
    let (last, first) = (
        ends.iter().fold(0.0f64, |a, b| a.max(*b)),
        ends.iter().fold(1e9, |a: f64, b| a.min(*b)),
    );
    assert_eq!((report.window_s, report.stonewall_s), (last, first));
    assert!((report.rate_per_s * last - 180.0).abs() < 1e-6);
    let before_wall = report.stonewall_rate_per_s * first;
    assert!(
        (60.0..=180.0).contains(&before_wall.round()),
        "{before_wall}"
    );
    let bytes: u64 = report.operations.values().map(|o| o.bytes).sum();
    assert!((report.throughput_bytes_per_s * last - bytes as f64).abs() < 1.0);
    for operation in report.operations.values() {
        assert_eq!(operation.histogram.count(), operation.count);
    }
    let steps = |name: &str| report.steps[name].bytes;
    assert_eq!(steps("write/write"), report.operations["write"].bytes);
    assert_eq!(steps("read/read"), report.operations["read"].bytes);
}

#[test]
fn spans_beyond_the_limit_are_counted() {
    let text = NULL.replace(
        r#""run_directory":"x""#,
        r#""run_directory":"x","spans":{"limit":10}"#,
    );
    let text = text.replace(
        r#""operations_per_client":1,"#,
        r#""operations_per_client":100,"#,
    );
    let outcome = run(&Plan::parse(&text).unwrap(), &Control::default()).unwrap();
    // A read is recorded as one span with three child spans: open, read and close.
    assert_eq!(
        outcome.spans.len() as u64 + outcome.report.spans_dropped,
        400
    );
    assert_eq!(outcome.spans.len(), 8);
    assert_eq!(outcome.spans[5].parent_id, outcome.spans[4].span_id);
    assert_eq!(
        (
            outcome.spans[4].name.as_str(),
            outcome.spans[7].name.as_str()
        ),
        ("read", "read/close")
    );
}

const NULL: &str = r#"{"stream":{"seed":1,"clients":1,"operations_per_client":1,
    "files_per_client":1,"mix":[{"operation":"read","weight":1}],"file_size":{"fixed":4096},
    "transfer_size_bytes":4096},"target":{"kind":"null"},"run_directory":"x"}"#;

#[test]
fn the_generator_itself_costs_little() {
    for (operation, calls) in [("stat", 1), ("read", 3), ("write", 3)] {
        let text = NULL
            .replace(
                r#""operation":"read""#,
                &format!(r#""operation":"{operation}""#),
            )
            .replace(
                r#""operations_per_client":1,"#,
                r#""operations_per_client":200000,"#,
            );
        let report = run(&Plan::parse(&text).unwrap(), &Control::default())
            .unwrap()
            .report;
        let spent_s = report.cpu_s.user + report.cpu_s.system;
        let each_ns = spent_s / 200_000.0 * 1e9;
        println!("null target, {operation} ({calls} calls): {each_ns:.0} ns CPU per operation");
        // The bound is wide, for unoptimised builds. It detects a wrong order of magnitude.
        assert!(each_ns < 50_000.0, "{each_ns}");
    }
}

#[test]
fn values_that_cannot_be_are_refused() {
    let hdfs =
        r#"{"kind":"hdfs","uri":"hdfs://127.0.0.1:1","replication":1,"block_size_bytes":1048576}"#;
    let hdfs = NULL.replace(r#"{"kind":"null"}"#, hdfs);
    Plan::parse(&hdfs).unwrap();
    for (old, new, key) in [
        (
            r#""replication":1"#,
            r#""replication":0"#,
            "target.replication",
        ),
        ("1048576", "1000", "target.block_size_bytes"),
        (
            r#""kind":"hdfs""#,
            r#""kind":"hdfs","direct":true"#,
            "direct I/O",
        ),
        (
            r#""kind":"hdfs""#,
            r#""kind":"hdfs","drop_caches":"files""#,
            "drop file caches",
        ),
        (
            r#""run_directory":"x""#,
            r#""run_directory":"x","time_limit_s":1e300"#,
            "time_limit_s",
        ),
        (
            r#""seed":1"#,
            r#""seed":1,"think_time_s":1e300"#,
            "think_time_s",
        ),
        (r#""seed":1"#, r#""seed":1,"sead":1"#, "sead"),
    ] {
        assert!(hdfs.contains(old));
        let error = Plan::parse(&hdfs.replace(old, new)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input);
        let text = error.to_string();
        assert!(text.contains(key) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn an_hdfs_that_does_not_answer_is_an_error_at_once() {
    let hdfs =
        r#"{"kind":"hdfs","uri":"hdfs://127.0.0.1:1","replication":1,"block_size_bytes":1048576}"#;
    let plan = Plan::parse(&NULL.replace(r#"{"kind":"null"}"#, hdfs)).unwrap();
    let error = run(&plan, &Control::default()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
    assert_eq!(error.status(), dfslab_load::Status::Temporary);
}

#[test]
fn an_overwrite_that_was_lost_is_found() {
    let place = Place::new("lost");
    let overwritten = |extra: &str| {
        let text = plan_text(&place.0, &["overwrite", "pwrite", "read", "pread"], extra);
        Plan::parse(&text).unwrap()
    };
    for verify in [r#","verify":"inline""#, r#","verify":"after""#] {
        let report = run(&overwritten(verify), &Control::default())
            .unwrap()
            .report;
        assert!(report.complete, "{:?}", report.errors);
        assert!(report.operations["overwrite"].bytes > 0 && report.verified_bytes > 0);
    }
    // This run keeps its files. Each file must have the content that its last overwrite wrote.
    let kept = r#","keep":true,"verify":"after""#;
    let plan = Plan::parse(&plan_text(&place.0, &["overwrite"], kept)).unwrap();
    assert!(run(&plan, &Control::default()).unwrap().report.complete);
    let content = dfslab_load::content_of(&plan);
    let count = |file| {
        let same = |operation: &dfslab_workload::Operation| operation.file == file;
        Stream::new(&plan.stream, 1).filter(same).count() as u32
    };
    for file in 0..8 {
        let bytes = fs::read(place.0.join(format!("dfslab-run/c1/f{file}"))).unwrap();
        let differs = |generation| content.first_difference(1, (file, generation), 0, &bytes);
        assert!(count(file) > 0);
        assert_eq!(differs(count(file)), None, "file {file}");
        assert!((0..count(file)).all(|earlier| differs(earlier) == Some(0)));
    }
}
