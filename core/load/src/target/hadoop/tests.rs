//! Tests of Hadoop's client on the local file system: the operations that it supports, those that
//! it refuses, and its errors.
//!
//! The tests need Java and a folder of Hadoop's jars, which the environment variable
//! DFSLAB_HADOOP_JARS names; `make test` sets it. `tests/unit/test_hadoop.py` tests the same
//! operations in scenarios.

use std::fs;
use std::path::PathBuf;

use crate::{run, Control, ErrorKind, Plan};

/// The folder of Hadoop's jars. Without this folder the tests fail, since a test that passed
/// without Hadoop would show nothing.
fn jars() -> String {
    std::env::var("DFSLAB_HADOOP_JARS").expect(
        "DFSLAB_HADOOP_JARS must name a folder of Hadoop's jars: \
         python -m dfslab.filesystems.hdfs.java prints it",
    )
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("dfslab-hadoop-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn plan(place: &Place, jars: &str, mix: &[&str], more: &str) -> String {
    let mix: Vec<String> = mix
        .iter()
        .map(|o| format!(r#"{{"operation":"{o}"}}"#))
        .collect();
    format!(
        r#"{{"stream":{{"seed":11,"clients":3,"operations_per_client":60,"files_per_client":8,
        "mix":[{}],"file_size":{{"uniform":{{"low":1,"high":300000}}}},
        "transfer_size_bytes":65536,"file_choice":"uniform"}},"verify":"inline",
        "target":{{"kind":"hadoop","uri":"file:///","root":{:?},"class_path":"{jars}/*"{more}}},
        "run_directory":"dfslab-run"}}"#,
        mix.join(","),
        place.0.display().to_string(),
    )
}

const ALL: [&str; 14] = [
    "read", "write", "create", "stat", "list", "rename", "delete", "mkdir", "rmdir", "open",
    "close", "pread", "exists", "chmod",
];

#[test]
fn every_operation_of_plain_files_works_with_own_and_with_shared_clients() {
    let jars = jars();
    for more in ["", r#","shared_client":true"#] {
        let place = Place::new("everything");
        let plan = Plan::parse(&plan(&place, &jars, &ALL, more)).unwrap();
        let report = run(&plan, &Control::default()).unwrap().report;
        assert!(report.complete, "{:?}", report.errors);
        assert!(report.errors.is_empty());
        let read = report.operations["read"].bytes + report.operations["pread"].bytes;
        assert!(read > 0);
        assert_eq!(report.verified_bytes, read);
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 0);
    }
}

#[test]
fn what_a_file_system_cannot_is_refused_before_anything_is_made() {
    let place = Place::new("cannot");
    for operation in ["append", "truncate", "lock", "pwrite", "set_xattr"] {
        let error = Plan::parse(&plan(&place, "unused", &[operation], "")).unwrap_err();
        let wanted = format!("target hadoop cannot {operation}");
        assert!(error.to_string().contains(&wanted), "{error}");
    }
    let hdfs = |o| plan(&place, "unused", &[o], "").replace("file:///", "hdfs://127.0.0.1:1");
    Plan::parse(&hdfs("append")).unwrap();
    Plan::parse(&hdfs("set_xattr")).unwrap();
    let odd = r#","block_size_bytes":1000"#;
    let error = Plan::parse(&plan(&place, "unused", &["stat"], odd)).unwrap_err();
    assert!(
        error.to_string().contains("target.block_size_bytes"),
        "{error}"
    );
}

#[test]
fn class_paths_and_addresses_that_cannot_be_are_input_errors() {
    let jars = jars();
    let place = Place::new("wrong");
    let error_of = |text: &str| {
        run(&Plan::parse(text).unwrap(), &Control::default())
            .err()
            .unwrap()
    };
    let good = plan(&place, &jars, &["stat"], "");
    for (old, new, key) in [
        (
            format!("{jars}/*"),
            "/nowhere/*".to_string(),
            "target.class_path",
        ),
        (
            format!("{jars}/*"),
            place.0.display().to_string(),
            "target.class_path",
        ),
        (
            "file:///".to_string(),
            "nosuch://host:1/".to_string(),
            "target.uri",
        ),
        (
            place.0.display().to_string(),
            "/nowhere/at/all".to_string(),
            "target.root",
        ),
    ] {
        let error = error_of(&good.replace(&old, &new));
        assert_eq!(error.kind, ErrorKind::Input, "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
    let taken = place.0.join("dfslab-run");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("mine"), "mine").unwrap();
    assert!(error_of(&good).to_string().contains("is there already"));
    assert_eq!(fs::read(taken.join("mine")).unwrap(), b"mine");
}

#[test]
fn a_flipped_byte_is_found() {
    let jars = jars();
    let place = Place::new("flipped");
    let text = plan(&place, &jars, &["read"], "").replace(
        r#""transfer_size_bytes":65536"#,
        r#""transfer_size_bytes":65536,"think_time_s":0.01"#,
    );
    let plan = Plan::parse(&text).unwrap();
    let control = std::sync::Arc::new(Control::default());
    let other = std::sync::Arc::clone(&control);
    let victim = place.0.join("dfslab-run/c1/f3");
    let spoiler = std::thread::spawn(move || {
        while other.progress().1 != "running" {
            std::thread::yield_now();
        }
        let mut bytes = fs::read(&victim).unwrap();
        bytes[0] ^= 1;
        fs::write(&victim, bytes).unwrap();
    });
    let report = run(&plan, &control).unwrap().report;
    spoiler.join().unwrap();
    // Hadoop's checksum file detects the changed bytes before the content check of the load
    // generator does.
    assert!(
        report.errors.iter().any(|error| error.kind == "corruption"),
        "{:?}",
        report.errors
    );
}
