//! Tests the checks of sampled content, on a target that keeps files in memory and may return or
//! store wrong bytes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use dfslab_workload::Stream;

use super::*;
use crate::clock::monotonic_ns;
use crate::execution::setup::Setup;
use crate::plan::Plan;
use crate::record::completed::Done;
use crate::record::Record;
use crate::target::{File, Target};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ReadsZeros,
    FlipsLastByte,
    FlipsFileEnd,
    LosesWrites,
    ShortensWrites,
    WritesAtStart,
}

type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

struct Memory(Files, Fault);

struct Open {
    files: Files,
    path: String,
    at: u64,
    fault: Fault,
}

impl Memory {
    fn open_at(&self, path: &str, at: u64) -> Box<dyn File> {
        Box::new(Open {
            files: Arc::clone(&self.0),
            path: path.to_string(),
            at,
            fault: self.1,
        })
    }

    fn size(&self, path: &str) -> u64 {
        self.0.lock().unwrap()[path].len() as u64
    }
}

impl Target for Memory {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        self.0.lock().unwrap().insert(path.to_string(), Vec::new());
        Ok(self.open_at(path, 0))
    }
    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        Ok(self.open_at(path, 0))
    }
    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        Ok(self.open_at(path, 0))
    }
    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        Ok(self.open_at(path, self.size(path)))
    }
    fn stat(&mut self, path: &str) -> Result<u64> {
        Ok(self.size(path))
    }
    fn list(&mut self, _path: &str) -> Result<usize> {
        Ok(0)
    }
    fn mkdir(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }
    fn rename(&mut self, _from: &str, _to: &str) -> Result<()> {
        Ok(())
    }
    fn delete(&mut self, path: &str) -> Result<()> {
        self.0.lock().unwrap().remove(path);
        Ok(())
    }
    fn rmdir(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }
    fn drop_cache(&mut self, _path: &str) -> Result<()> {
        Ok(())
    }
}

impl File for Open {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let got = self.read_at(buffer, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let files = self.files.lock().unwrap();
        let rest = files[&self.path].get(offset as usize..).unwrap_or(&[]);
        let got = rest.len().min(buffer.len());
        buffer[..got].copy_from_slice(&rest[..got]);
        match self.fault {
            Fault::ReadsZeros => buffer[..got].fill(0),
            Fault::FlipsLastByte if got > 0 => buffer[got - 1] ^= 1,
            Fault::FlipsFileEnd if got > 0 && got == rest.len() => buffer[got - 1] ^= 1,
            _ => (),
        }
        Ok(got)
    }
    fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.write_at(&bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let (bytes, offset) = match self.fault {
            Fault::LosesWrites => return Ok(()),
            Fault::ShortensWrites => (&bytes[..bytes.len() / 2], offset),
            Fault::WritesAtStart => (bytes, 0),
            _ => (bytes, offset),
        };
        let mut files = self.files.lock().unwrap();
        let content = files.get_mut(&self.path).unwrap();
        let end = offset as usize + bytes.len();
        content.resize(content.len().max(end), 0);
        content[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }
    fn fsync(&mut self) -> Result<()> {
        Ok(())
    }
    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Executes a stream of one operation type on a target that has `fault` in the timed part. Returns
/// the number of failed operations, the number of wrong files, and the number of compared bytes.
fn ran(operation: &str, verify: &str, fault: Fault) -> (u64, usize, u64) {
    ran_on((16384, 4096), operation, verify, fault)
}

/// Like `ran`, with files and transfers of the given `sizes`: (bytes of a file, bytes of a
/// transfer).
fn ran_on(sizes: (u64, u64), operation: &str, verify: &str, fault: Fault) -> (u64, usize, u64) {
    ran_and_observed(sizes, operation, verify, fault, |_| ())
}

/// Like `ran_on`; calls `observe` with the steps of the last operation.
fn ran_and_observed(
    (bytes, transfer): (u64, u64),
    operation: &str,
    verify: &str,
    fault: Fault,
    observe: impl FnOnce(&[Done]),
) -> (u64, usize, u64) {
    let text = format!(
        r#"{{"stream": {{"seed": 3, "clients": 1, "file_size": {{"fixed": {bytes}}},
        "files_per_client": 4, "operations_per_client": 20, "transfer_size_bytes": {transfer},
        "mix": [{{"operation": "{operation}", "weight": 1.0}}]}},
        "target": {{"kind": "posix", "root": "/"}}, "run_directory": "run",
        "verify": "{verify}"}}"#
    );
    let plan: Plan = serde_json::from_str(&text).unwrap();
    let setup = Setup::new(&plan);
    let files = Files::default();
    let mut client = Client::new(0, &setup, Box::new(Memory(Arc::clone(&files), Fault::None)));
    client.prepare(&|| false, &|| ()).unwrap();
    client.target = Box::new(Memory(files, fault));
    client.open_kept_files().unwrap();
    let mut record = Record::new(0, monotonic_ns(), 0, 0);
    record.begin_part(monotonic_ns());
    let mut stream = Stream::new(&plan.stream, 0);
    let mut operations = Vec::new();
    stream.ahead(0, 100, &mut operations);
    for operation in &operations {
        client.read_clock();
        client.execute(operation, None, &mut record);
    }
    observe(&client.done);
    record.settle();
    assert_eq!(record.count() + record.failures, 20);
    let mut wrong = 0;
    let bytes = client.verify_sample(&|| false, &mut |_| wrong += 1);
    (record.failures, wrong, record.verified_bytes + bytes)
}

const READS: [&str; 2] = ["pread", "read"];
const WRITES: [&str; 4] = ["pwrite", "write", "append", "overwrite"];

#[test]
fn an_honest_target_passes() {
    for operation in READS.iter().chain(&WRITES) {
        let (failed, wrong, bytes) = ran(operation, "sample", Fault::None);
        assert_eq!((failed, wrong), (0, 0), "{operation}");
        assert!(bytes > 0, "{operation}");
    }
}

#[test]
fn wrong_reads_fail() {
    for operation in READS {
        for fault in [Fault::ReadsZeros, Fault::FlipsLastByte] {
            assert_eq!(ran(operation, "sample", fault).0, 20, "{operation}");
        }
    }
}

#[test]
fn wrong_writes_are_found_in_the_files() {
    for operation in WRITES {
        for fault in [
            Fault::LosesWrites,
            Fault::ShortensWrites,
            Fault::WritesAtStart,
        ] {
            assert!(ran(operation, "sample", fault).1 > 0, "{operation}");
        }
    }
}

#[test]
fn comparisons_do_not_count_as_part_of_the_next_call() {
    for verify in ["sample", "inline"] {
        // With "sample", every read of this run is checked, because it is one of the client's first
        // reads.
        ran_and_observed((8192, 4096), "read", verify, Fault::None, |done| {
            assert_eq!(done.len(), 4);
            for calls in done.windows(2).filter(|calls| calls[0].step == Step::Read) {
                assert!(calls[0].end < calls[1].start, "{verify}");
            }
        });
    }
}

#[test]
fn no_byte_of_a_file_is_compared_twice() {
    for (bytes, transfer, compared) in [
        (1, 4096, 1),
        (4096, 65536, 4096),
        (4097, 65536, 4097),
        (8191, 65536, 8191),
        (8192, 65536, 8192),
        (16384, 65536, 8192),
        (1000, 1024, 1000),
        (16384, 1024, 2048),
    ] {
        let outcome = ran_on((bytes, transfer), "stat", "sample", Fault::None);
        assert_eq!(outcome, (0, 0, 4 * compared), "{bytes} {transfer}");
    }
}

#[test]
fn the_end_of_every_file_is_compared() {
    for bytes in [1, 1000, 4096, 4097, 8191, 8192, 16384] {
        for transfer in [512, 1024, 4096, 65536] {
            let outcome = ran_on((bytes, transfer), "stat", "sample", Fault::FlipsFileEnd);
            assert_eq!(outcome.1, 4, "{bytes} {transfer}");
        }
    }
}

#[test]
fn nothing_is_checked_without_a_sample() {
    for fault in [Fault::ReadsZeros, Fault::LosesWrites] {
        assert_eq!(ran("pread", "none", fault), (0, 0, 0));
        assert_eq!(ran("pwrite", "none", fault), (0, 0, 0));
    }
}
