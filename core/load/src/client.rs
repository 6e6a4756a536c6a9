//! One client: prepares its files, does its operations one after the other, checks and cleans up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dfslab_workload::{prepared_files, Operation, OperationKind};

use crate::content::Content;
use crate::plan::{Plan, Verify};
use crate::record::{Done, Record, Step};
use crate::target::{File, Target};
use crate::{Error, ErrorKind, Result, Status};

/// Buffers are aligned to this, as direct I/O demands.
const ALIGNMENT: usize = 4096;

/// A pausing client looks this often whether it is to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// A file this client made.
#[derive(Clone, Copy)]
struct Made {
    bytes: u64,
    renamed: bool,
    /// False while a call that changes it is under way, and after one that failed: then its bytes
    /// and its name may be those of before or after.
    certain: bool,
}

/// A client with its connection and the files it made; it touches nothing else.
pub struct Client<'a> {
    pub number: u32,
    plan: &'a Plan,
    content: &'a Content,
    target: Box<dyn Target>,
    files: BTreeMap<u64, Made>,
    directories: Vec<u64>,
    has_directory: bool,
    buffer: Vec<u8>,
    buffer_start: usize,
    done: Vec<Done>,
    /// When the last call ended, which is when the next step begins.
    clock: Instant,
}

impl<'a> Client<'a> {
    pub fn new(number: u32, plan: &'a Plan, content: &'a Content, target: Box<dyn Target>) -> Self {
        let buffer = vec![0; plan.stream.transfer_size_bytes as usize + ALIGNMENT];
        let buffer_start = buffer.as_ptr().align_offset(ALIGNMENT);
        Client {
            number,
            plan,
            content,
            target,
            files: BTreeMap::new(),
            directories: Vec::new(),
            has_directory: false,
            buffer,
            buffer_start,
            done: Vec::with_capacity(64),
            clock: Instant::now(),
        }
    }

    fn directory(&self) -> String {
        format!("c{}", self.number)
    }

    fn path(&self, file: u64) -> String {
        let renamed = self.files.get(&file).is_some_and(|made| made.renamed);
        self.path_by_name(file, renamed)
    }

    fn path_by_name(&self, file: u64, renamed: bool) -> String {
        format!("c{}/{}{file}", self.number, if renamed { 'r' } else { 'f' })
    }

    /// The path of a file that is to be changed, which this client must have made.
    fn path_of_own(&self, operation: &'static str, file: u64) -> Result<String> {
        let path = self.path(file);
        if self.files.contains_key(&file) {
            return Ok(path);
        }
        let reason = "making it failed before";
        Err(Error::new(ErrorKind::NotFound, operation, &path, reason))
    }

    /// Make the client's directory and the files that its stream starts with.
    pub fn prepare(&mut self, stop: &dyn Fn() -> bool, prepared: &dyn Fn()) -> Result<()> {
        let directory = self.directory();
        self.target.mkdir(&directory)?;
        self.has_directory = true;
        for (file, bytes) in prepared_files(&self.plan.stream, self.number) {
            if stop() {
                return Ok(());
            }
            self.done.clear();
            self.write_file(file, bytes, false)?;
            prepared();
        }
        Ok(())
    }

    /// Take the prepared files out of the page cache.
    pub fn drop_caches(&mut self) -> Result<()> {
        for file in self.files.keys().copied().collect::<Vec<_>>() {
            let path = self.path(file);
            self.target.drop_cache(&path)?;
        }
        Ok(())
    }

    /// Do one operation and record it; true when it succeeded.
    pub fn execute(&mut self, operation: &Operation, record: &mut Record) -> bool {
        self.done.clear();
        let start = Instant::now();
        self.clock = start;
        match self.perform(operation, record) {
            Ok(()) => {
                record.succeeded(operation, start, self.clock, &self.done);
                true
            }
            Err(error) => {
                record.failed(operation, &error);
                false
            }
        }
    }

    /// When the last call or pause ended.
    pub fn now(&self) -> Instant {
        self.clock
    }

    /// Sleep in short stretches, so that a long pause does not outlive the run.
    pub fn pause(&mut self, length: Duration, over: &dyn Fn(Instant) -> bool) {
        self.clock = Instant::now();
        let until = self.clock + length;
        while self.clock < until && !over(self.clock) {
            std::thread::sleep((until - self.clock).min(LONGEST_SLEEP));
            self.clock = Instant::now();
        }
    }

    fn perform(&mut self, operation: &Operation, record: &mut Record) -> Result<()> {
        let file = operation.file;
        match operation.kind {
            OperationKind::Read => self.read_file(operation, record),
            OperationKind::Write => {
                self.write_file(file, operation.size_bytes, self.plan.target.wants_fsync())
            }
            OperationKind::Create => self.write_file(file, 0, false),
            OperationKind::Append => self.append_file(file, operation.size_bytes),
            OperationKind::Stat => {
                let path = self.path(file);
                self.timed(Step::Stat, 0, |target| target.stat(&path))
                    .map(|_| ())
            }
            OperationKind::List => {
                let path = self.directory();
                self.timed(Step::List, 0, |target| target.list(&path))
                    .map(|_| ())
            }
            OperationKind::Rename => self.rename_file(file),
            OperationKind::Delete => {
                let path = self.path_of_own("delete", file)?;
                self.timed(Step::Delete, 0, |target| target.delete(&path))?;
                self.files.remove(&file);
                Ok(())
            }
            OperationKind::Mkdir => {
                let path = format!("c{}/d{file}", self.number);
                self.timed(Step::Mkdir, 0, |target| target.mkdir(&path))?;
                self.directories.push(file);
                Ok(())
            }
            kind => unreachable!("no target declares {}", kind.name()),
        }
    }

    /// Time one call; the end of a step is the start of the next, so a step costs one clock read.
    fn timed<T>(
        &mut self,
        step: Step,
        bytes: u64,
        call: impl FnOnce(&mut dyn Target) -> Result<T>,
    ) -> Result<T> {
        let start = self.clock;
        let outcome = call(self.target.as_mut());
        self.clock = Instant::now();
        let end = self.clock;
        let value = outcome?;
        self.done.push(Done {
            step,
            start,
            end,
            bytes,
        });
        Ok(value)
    }

    fn write_file(&mut self, file: u64, bytes: u64, fsync: bool) -> Result<()> {
        let path = self.path(file);
        let made = Made {
            bytes: 0,
            renamed: false,
            certain: true,
        };
        // Known as ours before it is made, so that a failure half way is cleaned up, too.
        let doubtful = Made {
            certain: false,
            ..made
        };
        self.files.insert(file, doubtful);
        match self.timed(Step::Create, 0, |target| target.create(&path)) {
            Ok(open) => self.fill(open, file, made, bytes, fsync),
            Err(error) => {
                if error.kind == ErrorKind::Exists {
                    // Somebody else made it: it is not ours to remove.
                    self.files.remove(&file);
                }
                Err(error)
            }
        }
    }

    fn append_file(&mut self, file: u64, bytes: u64) -> Result<()> {
        let path = self.path_of_own("append", file)?;
        let open = self.timed(Step::Append, 0, |target| target.append(&path))?;
        let made = self.files[&file];
        self.doubt(file);
        self.fill(open, file, made, bytes, self.plan.target.wants_fsync())
    }

    /// Write `bytes` more to an open file that was `made`, and close it.
    fn fill(
        &mut self,
        mut open: Box<dyn File>,
        file: u64,
        made: Made,
        bytes: u64,
        fsync: bool,
    ) -> Result<()> {
        let from = made.bytes;
        let transfer = self.plan.stream.transfer_size_bytes;
        let mut written = 0;
        while written < bytes {
            let length = transfer.min(bytes - written);
            let chunk = self
                .content
                .slice(self.number, file, from + written, length as usize);
            self.timed(Step::Write, length, |_| open.write(chunk))?;
            written += length;
        }
        if fsync {
            self.timed(Step::Fsync, 0, |_| open.fsync())?;
        }
        self.timed(Step::Close, 0, |_| open.close())?;
        self.files.insert(
            file,
            Made {
                bytes: made.bytes + bytes,
                ..made
            },
        );
        Ok(())
    }

    fn read_file(&mut self, operation: &Operation, record: &mut Record) -> Result<()> {
        let inline = self.plan.verify == Verify::Inline;
        let path = self.path(operation.file);
        let mut open = self.timed(Step::Open, 0, |target| target.open(&path))?;
        let (from, transfer) = (self.buffer_start, operation.transfer_size_bytes as usize);
        let mut offset = 0;
        while offset < operation.size_bytes {
            let wanted = transfer.min((operation.size_bytes - offset) as usize);
            let mut buffer = std::mem::take(&mut self.buffer);
            let got = self.timed(Step::Read, wanted as u64, |_| {
                open.read(&mut buffer[from..from + wanted])
            });
            self.buffer = buffer;
            let got = got?;
            if let Some(done) = self.done.last_mut() {
                done.bytes = got as u64;
            }
            if got == 0 {
                let reason = format!("ends at {offset} of {} bytes", operation.size_bytes);
                return Err(Error::new(ErrorKind::Corruption, "read", &path, reason));
            }
            if inline {
                self.check(operation.file, &path, offset, got)?;
                record.verified_bytes += got as u64;
            }
            offset += got as u64;
        }
        self.timed(Step::Close, 0, |_| open.close())
    }

    fn check(&self, file: u64, path: &str, offset: u64, length: usize) -> Result<()> {
        let seen = &self.buffer[self.buffer_start..self.buffer_start + length];
        match self
            .content
            .first_difference(self.number, file, offset, seen)
        {
            None => Ok(()),
            Some(place) => {
                let reason = format!("byte {place} is not what was written");
                Err(Error::new(ErrorKind::Corruption, "read", path, reason))
            }
        }
    }

    fn rename_file(&mut self, file: u64) -> Result<()> {
        let from = self.path_of_own("rename", file)?;
        let made = self.files[&file];
        let renamed = !made.renamed;
        let to = self.path_by_name(file, renamed);
        self.doubt(file);
        self.timed(Step::Rename, 0, |target| target.rename(&from, &to))?;
        self.files.insert(file, Made { renamed, ..made });
        Ok(())
    }

    /// Mark a file as one whose state is not known until the call at hand has succeeded.
    fn doubt(&mut self, file: u64) {
        if let Some(made) = self.files.get_mut(&file) {
            made.certain = false;
        }
    }

    /// Read back every file that is left and compare its content; files that a failed operation
    /// left half way are skipped.
    pub fn verify_all(&mut self, stop: &dyn Fn() -> bool, record: &mut Record) -> Result<()> {
        let files: Vec<(u64, Made)> = self
            .files
            .iter()
            .map(|(file, made)| (*file, *made))
            .collect();
        for (file, made) in files.into_iter().filter(|(_, made)| made.certain) {
            if stop() {
                return Ok(());
            }
            record.verified_bytes += self.verify(file, made.bytes)?;
        }
        Ok(())
    }

    /// Bytes of one file, all as written and no more or less than `bytes`.
    fn verify(&mut self, file: u64, bytes: u64) -> Result<u64> {
        let transfer = self.plan.stream.transfer_size_bytes as usize;
        let path = self.path(file);
        let mut open = self.target.open(&path)?;
        let mut offset = 0;
        loop {
            let from = self.buffer_start;
            let got = open.read(&mut self.buffer[from..from + transfer])?;
            if got == 0 {
                break;
            }
            self.check(file, &path, offset, got)?;
            offset += got as u64;
        }
        open.close()?;
        if offset != bytes {
            let reason = format!("has {offset} bytes, {bytes} were written");
            return Err(Error::new(ErrorKind::Corruption, "verify", &path, reason));
        }
        Ok(offset)
    }

    /// Remove what this client made, and nothing else. The first error is told and the rest tried,
    /// unless nobody answers any more.
    pub fn clean_up(&mut self) -> Result<()> {
        let mut first = Ok(());
        for (file, made) in std::mem::take(&mut self.files) {
            let mut outcome = self.target.delete(&self.path_by_name(file, made.renamed));
            if !made.certain && is_missing(&outcome) {
                outcome = self.target.delete(&self.path_by_name(file, !made.renamed));
            }
            keep_first(&mut first, outcome)?;
        }
        for directory in std::mem::take(&mut self.directories) {
            let path = format!("c{}/d{directory}", self.number);
            keep_first(&mut first, self.target.rmdir(&path))?;
        }
        if self.has_directory {
            keep_first(&mut first, self.target.rmdir(&self.directory()))?;
        }
        first
    }
}

fn is_missing(outcome: &Result<()>) -> bool {
    outcome
        .as_ref()
        .is_err_and(|error| error.kind == ErrorKind::NotFound)
}

/// Keep the first error that matters; an error where nobody answers ends the work.
fn keep_first(first: &mut Result<()>, outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.status() == Status::Temporary => Err(error),
        Err(error) if error.kind != ErrorKind::NotFound && first.is_ok() => {
            *first = Err(error);
            Ok(())
        }
        _ => Ok(()),
    }
}
