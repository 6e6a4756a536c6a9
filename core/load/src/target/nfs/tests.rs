//! Tests of the NFS target against an independent implementation of the protocol that keeps files
//! in memory.

use std::sync::mpsc;

use bytes::Bytes;
use nfs3_server::memfs::{MemFs, MemFsConfig};
use nfs3_server::tcp::{NFSTcp, NFSTcpListener};

use super::*;
use crate::{run, Control, Plan};

/// Starts an NFS server in this process, with one directory and one file, and returns its port.
/// Each call starts a separate server, which runs until the process ends.
fn served() -> u16 {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut config = MemFsConfig::default();
            config.add_dir("/work");
            config.add_file("/file", "x");
            let held = MemFs::new(config).unwrap();
            let listener = NFSTcpListener::bind("127.0.0.1:0", held).await.unwrap();
            sender.send(listener.get_listen_port()).unwrap();
            listener.handle_forever().await.unwrap();
        });
    });
    receiver.recv().unwrap()
}

fn spec(port: u16, more: &str) -> String {
    format!(
        r#"{{"kind":"nfs","server":"127.0.0.1","export":"/","root":"/work",
        "portmapper_port":{port}{more}}}"#
    )
}

fn factory(port: u16, more: &str, run_directory: &str) -> NfsFactory {
    let super::super::TargetSpec::Nfs(spec) = serde_json::from_str(&spec(port, more)).unwrap()
    else {
        panic!("another kind");
    };
    NfsFactory::new(&spec, run_directory).unwrap()
}

fn plan(target: &str, mix: &[&str]) -> Plan {
    let mix: Vec<String> = mix
        .iter()
        .map(|o| format!(r#"{{"operation":"{o}","weight":1.0}}"#))
        .collect();
    let text = format!(
        r#"{{"stream":{{"seed":3,"clients":2,"operations_per_client":60,"files_per_client":6,
        "mix":[{}],"file_size":{{"uniform":{{"low":1,"high":100000}}}},
        "transfer_size_bytes":16384,"file_choice":"uniform"}},"target":{target},
        "run_directory":"run","verify":"inline"}}"#,
        mix.join(","),
    );
    Plan::parse(&text).unwrap()
}

#[test]
fn every_operation_works_is_verified_and_leaves_nothing() {
    let port = served();
    let target = spec(port, r#","fsync":"close""#);
    let kinds = [
        "read", "write", "append", "create", "stat", "list", "rename", "delete", "mkdir",
    ];
    // The plan is run twice: the second run would fail on anything that the first did not remove.
    for _ in 0..2 {
        let report = run(&plan(&target, &kinds), &Control::default())
            .unwrap()
            .report;
        assert!(report.complete, "{:?}", report.errors);
        let counted: u64 = report.operations.values().map(|o| o.count).sum();
        assert_eq!(counted, 120);
        assert_eq!(report.verified_bytes, report.operations["read"].bytes);
    }
}

#[test]
fn calls_are_cut_to_what_is_allowed_and_bytes_stay_in_order() {
    let port = served();
    let more = r#","read_size_bytes":7000,"write_size_bytes":10000"#;
    let factory = factory(port, more, "cut");
    factory.begin(false).unwrap();
    let mut target = factory.connect().unwrap();
    let bytes: Vec<u8> = (0..100_001u32).map(|n| (n * 7 / 3) as u8).collect();
    let mut file = target.create("f").unwrap();
    file.write(Bytes::from(bytes[..60_000].to_vec())).unwrap();
    file.close().unwrap();
    let mut file = target.append("f").unwrap();
    file.write(Bytes::from(bytes[60_000..].to_vec())).unwrap();
    file.fsync().unwrap();
    file.close().unwrap();
    assert_eq!(target.stat("f").unwrap(), 100_001);
    let (mut file, mut observed) = (target.open("f").unwrap(), vec![0; 200_000]);
    assert_eq!(file.read(&mut observed[..16_384]).unwrap(), 16_384);
    assert_eq!(
        file.read(&mut observed[16_384..]).unwrap(),
        100_001 - 16_384
    );
    assert_eq!(file.read(&mut [0; 10]).unwrap(), 0);
    assert!(observed[..100_001] == bytes);
    target.delete("f").unwrap();
    factory.finish(false).unwrap();
}

#[test]
fn a_list_of_many_pages_counts_every_entry_once() {
    let port = served();
    let mut factory = factory(port, "", "pages");
    factory.settings.list_bytes = 1024;
    factory.begin(false).unwrap();
    let mut target = factory.connect().unwrap();
    target.mkdir("c0").unwrap();
    assert_eq!(target.list("c0").unwrap(), 0);
    for number in 0..200 {
        target.create(&format!("c0/file-{number}")).unwrap();
    }
    assert_eq!(target.list("c0").unwrap(), 200);
    assert_eq!(target.list("").unwrap(), 1);
}

#[test]
fn a_shared_directory_is_found_by_the_second_place_and_left_by_the_first() {
    let port = served();
    let places = [factory(port, "", "shared"), factory(port, "", "shared")];
    for place in &places {
        place.begin(true).unwrap();
    }
    for place in &places {
        place.finish(true).unwrap();
    }
    let error = factory(port, "", "shared").finish(false).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn errors_have_their_kinds() {
    let port = served();
    let factory = factory(port, "", "errors");
    factory.begin(false).unwrap();
    let mut target = factory.connect().unwrap();
    let kind = |error: Option<Error>| error.unwrap().kind;
    assert_eq!(kind(target.open("none").err()), ErrorKind::NotFound);
    assert_eq!(kind(target.stat("none/f").err()), ErrorKind::NotFound);
    target.create("f").unwrap();
    assert_eq!(kind(target.create("f").err()), ErrorKind::Exists);
    assert!(factory.finish(false).is_err(), "it is not empty");
    factory.finish(true).unwrap();
    target.delete("f").unwrap();
    factory.finish(false).unwrap();
}

#[test]
fn targets_that_cannot_be_are_input_errors() {
    let port = served();
    for (old, new, key) in [
        ("/work", "/none", "target.root"),
        ("/work", "/file", "target.root"),
        (r#""export":"/""#, r#""export":"/none""#, "target.export"),
    ] {
        let target = spec(port, "").replace(old, new);
        let error = run(&plan(&target, &["write"]), &Control::default()).err();
        let error = error.unwrap();
        assert_eq!(error.kind, ErrorKind::Input, "{error}");
        assert!(error.to_string().starts_with(key), "{error}");
    }
}

#[test]
fn a_server_that_hangs_up_or_is_absent_is_an_error_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || drop(listener.accept().unwrap()));
    // The first connection meets a server that hangs up, the second meets no server.
    for _ in 0..2 {
        let error = run(&plan(&spec(port, ""), &["write"]), &Control::default()).err();
        assert_eq!(error.unwrap().kind, ErrorKind::Unreachable);
    }
    server.join().unwrap();
}
