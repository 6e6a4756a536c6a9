//! Tests of load runs on a directory and in memory through OpenDAL. Another test covers S3 with a
//! server.

use std::fs;
use std::path::{Path, PathBuf};

use super::spec::{Service, Spec};
use crate::{run, Control, ErrorKind, Outcome, Plan};

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let unique = format!("dfslab-opendal-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        fs::create_dir(&path).unwrap();
        Place(path)
    }

    fn uri(&self) -> String {
        format!("fs://{}", self.0.display())
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

const ALL: [&str; 11] = [
    "write", "create", "read", "pread", "open", "stat", "exists", "list", "delete", "mkdir",
    "rmdir",
];
const OF_A_DIRECTORY: [&str; 2] = ["append", "rename"];

fn plan_text(uri: &str, mix: &[&str], extra: &str) -> String {
    let mix: Vec<String> = mix
        .iter()
        .map(|one| format!(r#"{{"operation":"{one}"}}"#))
        .collect();
    format!(
        r#"{{"stream":{{"seed":3,"clients":3,"operations_per_client":70,"files_per_client":5,
        "mix":[{}],"file_size":{{"uniform":{{"low":0,"high":90000}}}},
        "transfer_size_bytes":16384,"file_choice":"uniform"}},
        "target":{{"kind":"opendal","uri":{uri:?}}},"run_directory":"dfslab-run"{extra}}}"#,
        mix.join(",")
    )
}

fn outcome(uri: &str, mix: &[&str], extra: &str) -> Outcome {
    let plan = Plan::parse(&plan_text(uri, mix, extra)).unwrap();
    run(&plan, &Control::default()).unwrap()
}

fn refused(uri: &str, mix: &[&str], extra: &str) -> String {
    let error = Plan::parse(&plan_text(uri, mix, extra)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Input);
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn spec(uri: &str) -> Spec {
    serde_json::from_str(&format!(r#"{{"uri":{uri:?}}}"#)).unwrap()
}

#[test]
fn every_operation_is_done_is_verified_and_leaves_nothing() {
    let place = Place::new("everything");
    let own: Vec<&str> = ALL.iter().chain(&OF_A_DIRECTORY).copied().collect();
    for (uri, mix) in [(place.uri(), &own[..]), ("memory:///x".into(), &ALL[..])] {
        for verify in ["inline", "after"] {
            let found = outcome(&uri, mix, &format!(r#","verify":{verify:?}"#));
            let report = &found.report;
            assert!(report.complete, "{uri}: {:?}", report.errors);
            let done: u64 = report.operations.values().map(|one| one.count).sum();
            assert_eq!(done, 210);
            assert!(mix.iter().all(|one| report.operations[*one].count > 0));
            assert!(report.verified_bytes > 0);
            assert_eq!(place.entries(), 0);
        }
    }
}

#[test]
fn bytes_that_changed_are_found() {
    let place = Place::new("changed");
    let kept = r#","keep":true"#;
    let plan = Plan::parse(&plan_text(&place.uri(), &["write"], kept)).unwrap();
    assert!(run(&plan, &Control::default()).unwrap().report.complete);
    let content = crate::content_of(&plan);
    let written = fs::read(place.0.join("dfslab-run/c1/f9")).unwrap();
    assert_eq!(content.first_difference(1, (9, 0), 0, &written), None);
    assert!(written.len() > 1000);
}

#[test]
fn what_is_declared_is_what_the_services_say() {
    for (uri, service) in [
        (
            "s3://bucket/a/b?region=here&skip_signature=true",
            Service::S3,
        ),
        ("fs:///", Service::Directory),
        ("memory:///", Service::Memory),
    ] {
        let spec = spec(uri);
        spec.check().unwrap();
        assert_eq!(spec.address().unwrap().0, service);
        let (reported, can) = (spec.capabilities(), spec.operator().unwrap().info());
        let can = can.full_capability();
        assert!(can.read && can.write && can.write_can_empty && can.stat && can.list);
        assert!(can.delete && can.create_dir && can.write_with_if_not_exists);
        assert_eq!(reported.rename, can.rename || can.copy, "{uri}");
        // S3 appends only to objects in one type of bucket. A URI does not show the type of its
        // bucket.
        assert_eq!(
            reported.append,
            can.write_can_append && service != Service::S3
        );
    }
}

#[test]
fn places_are_below_the_address() {
    let mut reported = spec("s3://bucket/a/b/?region=here");
    reported.root = "/c//d/".to_string();
    let (_, uri) = reported.address().unwrap();
    assert_eq!(reported.place(&uri), "/a/b/c/d");
    assert_eq!(reported.operator().unwrap().info().root(), "/a/b/c/d/");
}

#[test]
fn what_cannot_be_is_one_line() {
    let (read, s3) = (["read"], "s3://bucket?region=here");
    for (uri, mix, extra, message) in [
        ("gs://bucket", &read[..], "", "allowed: s3://BUCKET"),
        ("nonsense", &read, "", "allowed: s3://BUCKET"),
        ("s3:///only?region=here", &read, "", "names no bucket"),
        (
            "s3://bucket?endpont=http://x",
            &read,
            "",
            "\"endpont\" is no option",
        ),
        (
            "s3://bucket?secret_access_key=x",
            &read,
            "",
            "credentials come from the environment",
        ),
        (
            "s3://me:word@bucket",
            &read,
            "",
            "credentials come from the environment",
        ),
        ("fs://host/x", &read, "", "allowed: fs:///DIRECTORY"),
        ("memory:///?root=x", &read, "", "allowed: none"),
        (s3, &["append"], "", "target opendal cannot append"),
        (s3, &["pwrite"], "", "target opendal cannot pwrite"),
        (s3, &["lock"], "", "target opendal cannot lock"),
        (
            "memory:///",
            &["rename"],
            "",
            "target opendal cannot rename",
        ),
    ] {
        let text = refused(uri, mix, extra);
        assert!(text.contains(message), "{text}");
    }
    let whole = plan_text(s3, &read, "");
    for (reported, message) in [
        (r#""part_size_bytes":1000"#, "5 MiB to 5 GiB"),
        (r#""root":"/up/..""#, "go through no .."),
        (r#""direct":true"#, "cannot direct I/O"),
        (r#""fsync":"close""#, "cannot fsync"),
        (r#""drop_caches":"files""#, "cannot drop file caches"),
    ] {
        let more = format!(r#""kind":"opendal",{reported}"#);
        let text = whole.replace(r#""kind":"opendal""#, &more);
        let error = Plan::parse(&text).unwrap_err().to_string();
        assert!(error.contains(message) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn what_is_there_already_stays() {
    let place = Place::new("taken");
    let plan = |uri: &str, extra| Plan::parse(&plan_text(uri, &["write"], extra)).unwrap();
    let run_it = |plan: &Plan| run(plan, &Control::default()).map(drop).unwrap_err();
    let (elsewhere, own) = (Place::new("elsewhere"), place.0.join("dfslab-run"));
    std::os::unix::fs::symlink(&elsewhere.0, &own).unwrap();
    for extra in ["", r#","shared":true"#] {
        let error = run_it(&plan(&place.uri(), extra));
        assert_eq!(error.kind, ErrorKind::Input, "{error}");
    }
    assert_eq!(elsewhere.entries(), 0);
    let missing = place.0.join("missing");
    let error = run_it(&plan(&format!("fs://{}", missing.display()), ""));
    assert!(
        error.to_string().contains("must be an existing directory"),
        "{error}"
    );
    assert!(!missing.exists());
    let error = run_it(&plan("memory:///", r#","shared":true"#));
    assert!(error.to_string().contains("of one process"), "{error}");
}

#[test]
fn files_of_others_in_the_run_directory_stay() {
    let place = Place::new("foreign");
    let text = plan_text(&place.uri(), &["write"], r#","max_errors":1000"#).replace(
        r#""transfer_size_bytes":16384"#,
        r#""transfer_size_bytes":16384,"think_time_s":0.005"#,
    );
    let plan = Plan::parse(&text).unwrap();
    let control = std::sync::Arc::new(Control::default());
    let (other, directory) = (
        std::sync::Arc::clone(&control),
        place.0.join("dfslab-run/c0"),
    );
    let foreign = std::thread::spawn(move || {
        while other.progress().1 != "running" {
            std::thread::yield_now();
        }
        // Another writer's object has the path of the last file that the client is going to create.
        fs::write(directory.join("f69"), "theirs").unwrap();
    });
    let report = run(&plan, &control).unwrap().report;
    foreign.join().unwrap();
    assert_eq!(report.operations["write"].errors, 1, "{:?}", report.errors);
    assert_eq!(left_over(&place.0), ["f69"]);
    assert_eq!(
        fs::read(place.0.join("dfslab-run/c0/f69")).unwrap(),
        b"theirs"
    );
}

fn left_over(root: &Path) -> Vec<String> {
    let found = fs::read_dir(root.join("dfslab-run/c0")).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    found
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

#[test]
fn a_store_that_does_not_answer_is_an_error_at_once() {
    let uri = "s3://bucket?endpoint=http://127.0.0.1:1&region=here&skip_signature=true";
    let plan = Plan::parse(&plan_text(uri, &["read"], "")).unwrap();
    let error = run(&plan, &Control::default()).map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error}");
    assert!(!error.to_string().contains('\n'));
}
