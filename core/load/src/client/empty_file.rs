//! Fast paths for operations that create, look up or delete an empty file by one or two calls.
//! These functions do only the work that such operations need, which keeps the generator's overhead
//! per operation small.

use dfslab_workload::Operation;

use crate::client::{Client, Made};
use crate::record::completed::Done;
use crate::record::Record;
use crate::step::Step;
use crate::target::Target;
use crate::Result;

impl Client<'_> {
    /// Creates an empty file and returns whether the creation succeeded. If metadata-server calls
    /// are to be recorded, does nothing and returns None; the caller then uses
    /// `execute_step_by_step`.
    pub(crate) fn create_at_once(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> Option<bool> {
        if self.reports_calls {
            return None;
        }
        let file = operation.file;
        let made = self.expect_made(file);
        let start = self.clock.now();
        let (mut opened, clock) = (start, &mut self.clock);
        let mut created = || opened = clock.now();
        self.slot.begin(Step::Create, Some(file), start);
        let made_empty = self.target.make_empty(&self.path, &mut created);
        let end = self.clock.now();
        self.now = end;
        if let Err(error) = made_empty {
            self.disown(file, &error);
            self.fail(operation, error, record);
            return Some(false);
        }
        self.set_made(file, made);
        let done = |step, start, end| Done {
            step,
            start,
            end,
            bytes: 0,
        };
        let steps = [
            done(Step::Create, start, opened),
            done(Step::Close, opened, end),
        ];
        record.succeeded(operation, scheduled, (start, end), &steps);
        Some(true)
    }

    /// Reads a file's attributes and returns whether the call succeeded. If metadata-server calls
    /// are to be recorded, does nothing and returns None; the caller then uses
    /// `execute_step_by_step`.
    pub(crate) fn stat_at_once(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> Option<bool> {
        if self.reports_calls {
            return None;
        }
        self.find(operation.owner, operation.file);
        let call = |target: &mut dyn Target, path: &str| target.stat(path).map(drop);
        Some(self.only_call(operation, scheduled, record, (Step::Stat, call)))
    }

    /// Deletes a file of this client and returns whether the deletion succeeded. Does nothing and
    /// returns None if the file does not exist, or if metadata-server calls are to be recorded. The
    /// caller then uses `execute_step_by_step`.
    pub(crate) fn delete_at_once(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> Option<bool> {
        let file = operation.file;
        if self.reports_calls || self.made(file).is_none() {
            return None;
        }
        self.find(self.number, file);
        let call = |target: &mut dyn Target, path: &str| target.delete(path);
        let deleted = self.only_call(operation, scheduled, record, (Step::Delete, call));
        if deleted {
            self.set_made(file, Made::default());
            if self.set_open_file(self.number, file, None).is_some() {
                // Closing the open file may have taken long, and its time must not count as part of
                // the deletion.
                self.read_clock();
            }
        }
        Some(deleted)
    }

    /// Sets `self.path` to the path of a file. If the path has to be built, reads the clock
    /// afterwards. The time of the next call then starts after the building of the path. Otherwise
    /// it starts at the end of the previous operation.
    #[inline]
    fn find(&mut self, owner: u32, file: u64) {
        if self.go_to(owner, file) {
            self.read_clock();
        }
    }

    /// Executes and records an operation that is a single call on `self.path` and starts at
    /// `self.now`. Returns whether the operation succeeded.
    #[inline]
    fn only_call(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
        (step, call): (Step, impl FnOnce(&mut dyn Target, &str) -> Result<()>),
    ) -> bool {
        let start = self.now;
        self.slot.begin(step, Some(operation.file), start);
        let outcome = call(self.target.as_mut(), &self.path);
        let end = self.clock.now();
        self.now = end;
        match outcome {
            Ok(()) => record.succeeded_at_once(operation, scheduled, (start, end), step),
            Err(error) => {
                self.fail(operation, error, record);
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::Arc;
    use std::time::Duration;

    use bytes::Bytes;
    use dfslab_workload::{OperationKind, Stream};

    use crate::clock::monotonic_ns;
    use crate::execution::setup::Setup;
    use crate::plan::Plan;
    use crate::record::Kind;
    use crate::target::null::Null;
    use crate::target::File;

    /// A target that does nothing, except that closing one of its open files takes long. The shared
    /// number is the time at which the latest file was closed, in ns of the monotonic clock.
    struct SlowlyClosed(Arc<AtomicU64>);

    struct Slow(Arc<AtomicU64>);

    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(1));
            self.0.store(monotonic_ns(), Ordering::Relaxed);
        }
    }

    impl File for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            Ok(buffer.len())
        }
        fn write(&mut self, _bytes: Bytes) -> Result<()> {
            Ok(())
        }
        fn fsync(&mut self) -> Result<()> {
            Ok(())
        }
        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
        fn read_at(&mut self, buffer: &mut [u8], _offset: u64) -> Result<usize> {
            Ok(buffer.len())
        }
    }

    impl Target for SlowlyClosed {
        fn create(&mut self, _path: &str) -> Result<Box<dyn File>> {
            Ok(Box::new(Slow(self.0.clone())))
        }
        fn open(&mut self, _path: &str) -> Result<Box<dyn File>> {
            Ok(Box::new(Slow(self.0.clone())))
        }
        fn append(&mut self, _path: &str) -> Result<Box<dyn File>> {
            Ok(Box::new(Slow(self.0.clone())))
        }
        fn stat(&mut self, path: &str) -> Result<u64> {
            Null.stat(path)
        }
        fn list(&mut self, path: &str) -> Result<usize> {
            Null.list(path)
        }
        fn rename(&mut self, from: &str, to: &str) -> Result<()> {
            Null.rename(from, to)
        }
        fn delete(&mut self, path: &str) -> Result<()> {
            Null.delete(path)
        }
        fn mkdir(&mut self, path: &str) -> Result<()> {
            Null.mkdir(path)
        }
        fn rmdir(&mut self, path: &str) -> Result<()> {
            Null.rmdir(path)
        }
        fn drop_cache(&mut self, path: &str) -> Result<()> {
            Null.drop_cache(path)
        }
    }

    #[test]
    fn what_comes_behind_an_operation_is_no_part_of_the_next() {
        let text = r#"{"stream":{"seed":3,"clients":1,"operations_per_client":9,
            "files_per_client":2,"file_size":{"fixed":9},"transfer_size_bytes":4,
            "mix":[{"operation":"open"},{"operation":"pread"},{"operation":"delete"}]},
            "target":{"kind":"null"},"run_directory":"x"}"#;
        let plan = Plan::parse(text).unwrap();
        let setup = Setup::new(&plan);
        let closed = Arc::new(AtomicU64::new(0));
        let mut client = Client::new(0, &setup, Box::new(SlowlyClosed(closed.clone())));
        client.pretend();
        let mut record = Record::new(0, 0, 0, 0);
        record.begin_part(0);
        let like = Stream::new(&plan.stream, 0).next().unwrap();
        use OperationKind::{Delete, Open, Pread};
        for (kind, closes) in [(Pread, false), (Open, true), (Pread, false), (Delete, true)] {
            let (file, size_bytes, offset_bytes) = (0, 4, 0);
            let operation = Operation {
                kind,
                file,
                size_bytes,
                offset_bytes,
                ..like
            };
            let before = closed.load(Ordering::Relaxed);
            let ran = client.execute_row(&[operation], None, &mut record, |_| true);
            assert_eq!((ran.begun, record.failures), (1, 0), "{kind:?}");
            let at = closed.load(Ordering::Relaxed);
            assert_eq!(at > before, closes, "{kind:?}");
            // The next operation starts at `client.now`, which must not be earlier than the time at
            // which the file was closed. The tolerance of 20 µs exceeds the difference between the
            // generator's and the kernel's clock. It is far below the millisecond that closing
            // takes.
            assert!(client.now + 20_000 >= at, "{kind:?}: {} {at}", client.now);
        }
    }

    #[test]
    fn the_long_way_does_the_same() {
        let text = r#"{"stream":{"seed":3,"clients":1,"operations_per_client":300,
            "files_per_client":2,"file_size":{"fixed":0},"transfer_size_bytes":1,
            "mix":[{"operation":"create","weight":2},{"operation":"stat"},
                   {"operation":"delete"}]},
            "target":{"kind":"null"},"run_directory":"x"}"#;
        let plan = Plan::parse(text).unwrap();
        let setup = Setup::new(&plan);
        let observed = |long: bool| {
            let mut client = Client::new(0, &setup, Box::new(Null));
            client.reports_calls = long;
            client.pretend();
            let mut record = Record::new(0, 0, 0, 0);
            record.begin_part(0);
            for operation in Stream::new(&plan.stream, 0) {
                assert!(client.execute(&operation, None, &mut record));
            }
            let of = |(kind, observed): (OperationKind, &Kind)| {
                let steps = observed.steps().into_iter();
                let steps = steps.map(|(step, its)| (step, its.histogram.count(), its.bytes));
                (
                    kind,
                    observed.operations().histogram.count(),
                    steps.collect(),
                )
            };
            let kinds: Vec<(_, u64, Vec<_>)> = record.part().kinds().map(of).collect();
            (kinds, client.own_files())
        };
        let short = observed(false);
        assert_eq!(short.0.len(), 3);
        assert_eq!(short, observed(true));
    }
}
