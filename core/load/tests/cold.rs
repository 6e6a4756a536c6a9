//! Tests of cold runs. In a cold run, files are read from a disk. A run whose files cannot be
//! dropped from memory is refused.

use std::fs;
use std::path::Path;

use dfslab_load::{run, Control, Error, ErrorKind, Outcome, Plan};

/// Returns the outcome of a cold run. Returns None if the run was refused because its files stayed
/// in memory, as on a memory file system. Panics for any other error.
fn unless_in_memory(ran: Result<Outcome, Error>) -> Option<Outcome> {
    match ran {
        Ok(outcome) => Some(outcome),
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Input, "{error}");
            assert!(error.context.contains(" bytes"), "{error}");
            None
        }
    }
}

#[test]
fn a_cold_run_that_is_warm_is_refused() {
    let text = |root: &Path| {
        format!(
            r#"{{"stream":{{"seed":1,"clients":2,"operations_per_client":4,"files_per_client":2,
            "mix":[{{"operation":"read"}}],"file_size":{{"fixed":300000}},
            "transfer_size_bytes":65536}},
            "target":{{"kind":"posix","root":"{}","drop_caches":"files"}},"run_directory":"run"}}"#,
            root.display()
        )
    };
    // Files in a memory file system cannot be dropped from memory, so the run must be refused.
    let shared = Path::new("/dev/shm");
    let root = shared.join(format!("dfslab-test-cold-{}", std::process::id()));
    fs::create_dir(&root).unwrap();
    let refused = run(&Plan::parse(&text(&root)).unwrap(), &Control::default());
    let left = fs::read_dir(&root).unwrap().count();
    fs::remove_dir_all(&root).unwrap();
    let error = refused.err().expect("it is refused");
    assert_eq!((error.kind, left), (ErrorKind::Input, 0), "{error}");
    assert!(
        error.context.contains("1200000 of 1200000 bytes"),
        "{error}"
    );
    let root = std::env::temp_dir().join(format!("dfslab-test-cold-{}", std::process::id()));
    fs::create_dir(&root).unwrap();
    let ran = run(&Plan::parse(&text(&root)).unwrap(), &Control::default());
    fs::remove_dir_all(&root).unwrap();
    // The outcome is checked only if temporary files are on a disk.
    if let Some(outcome) = unless_in_memory(ran) {
        let proof = outcome.report.cache.proof.expect("it was asked for");
        assert_eq!(proof.prepared_bytes, 1_200_000);
        assert!(proof.resident_bytes <= 12_000, "{}", proof.resident_bytes);
    }
}

#[test]
fn later_phases_are_emptied_and_proven_too() {
    let text = |root: &Path| {
        format!(
            r#"{{"stream":{{"seed":1,"clients":2,"files_per_client":0,"phases":[
            {{"name":"write","operations_per_client":3,"mix":[{{"operation":"write"}}]}},
            {{"name":"read","operations_per_client":3,"mix":[{{"operation":"read"}}]}}],
            "file_size":{{"fixed":300000}},"transfer_size_bytes":65536}},
            "target":{{"kind":"posix","root":"{}","drop_caches":"files"}},"run_directory":"run"}}"#,
            root.display()
        )
    };
    let name = format!("dfslab-test-cold-later-{}", std::process::id());
    let root = Path::new("/dev/shm").join(&name);
    fs::create_dir(&root).unwrap();
    let refused = run(&Plan::parse(&text(&root)).unwrap(), &Control::default());
    let left = fs::read_dir(&root).unwrap().count();
    fs::remove_dir_all(&root).unwrap();
    let error = refused.err().expect("what was written stays in memory");
    assert_eq!((error.kind, left), (ErrorKind::Input, 0), "{error}");
    assert!(
        error.context.contains("1800000 of 1800000 bytes"),
        "{error}"
    );
    let root = std::env::temp_dir().join(&name);
    fs::create_dir(&root).unwrap();
    let ran = run(&Plan::parse(&text(&root)).unwrap(), &Control::default());
    fs::remove_dir_all(&root).unwrap();
    if let Some(outcome) = unless_in_memory(ran) {
        let phases = outcome.report.phases;
        let proofs = phases.iter().map(|phase| phase.cache.proof);
        let looked_at: Vec<u64> = proofs.map(|proof| proof.unwrap().prepared_bytes).collect();
        assert_eq!(looked_at, [0, 1_800_000]);
        assert_eq!(outcome.report.cache.dropped, "files");
    }
}
