//! One client: prepares its files, does its operations one after the other, checks and cleans up.

use std::collections::BTreeMap;
use std::time::Instant;

use dfslab_workload::{prepared_files, Operation, OperationKind};

use crate::content::Content;
use crate::plan::{Plan, Verify};
use crate::record::{Done, Record, Step};
use crate::target::{File, Target};
use crate::{Error, ErrorKind, Result};

/// Buffers are aligned to this, as direct I/O demands.
const ALIGNMENT: usize = 4096;

/// A file this client made.
#[derive(Clone, Copy)]
struct Made {
    bytes: u64,
    renamed: bool,
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
}

impl<'a> Client<'a> {
    pub fn new(
        number: u32,
        plan: &'a Plan,
        content: &'a Content,
        target: Box<dyn Target>,
    ) -> Self {
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
        }
    }

    fn directory(&self) -> String {
        format!("c{}", self.number)
    }

    fn path(&self, file: u64) -> String {
        let renamed = self.files.get(&file).is_some_and(|made| made.renamed);
        format!("c{}/{}{file}", self.number, if renamed { 'r' } else { 'f' })
    }

    /// Make the client's directory and the files that its stream starts with.
    pub fn prepare(&mut self, stop: &dyn Fn() -> bool) -> Result<()> {
        let directory = self.directory();
        self.target.mkdir(&directory)?;
        self.has_directory = true;
        for (file, bytes) in prepared_files(&self.plan.stream, self.number) {
            if stop() {
                return Ok(());
            }
            self.write_file(file, bytes, false)?;
        }
        self.done.clear();
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

    /// Do one operation and record it.
    pub fn execute(&mut self, operation: &Operation, record: &mut Record) {
        self.done.clear();
        let start = Instant::now();
        let outcome = self.perform(operation, record);
        let end = self.done.last().map_or(start, |last| last.end);
        match outcome {
            Ok(()) => record.succeeded(operation, start, end, &self.done),
            Err(error) => record.failed(operation, &error),
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
                self.timed(Step::Stat, 0, |target| target.stat(&path)).map(|_| ())
            }
            OperationKind::List => {
                let path = self.directory();
                self.timed(Step::List, 0, |target| target.list(&path)).map(|_| ())
            }
            OperationKind::Rename => self.rename_file(file),
            OperationKind::Delete => {
                let path = self.path(file);
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
        }
    }

    /// Time one call; the end of a step is the start of the next, so a step costs one clock read.
    fn timed<T>(
        &mut self,
        step: Step,
        bytes: u64,
        call: impl FnOnce(&mut dyn Target) -> Result<T>,
    ) -> Result<T> {
        let start = self.done.last().map_or_else(Instant::now, |last| last.end);
        let value = call(self.target.as_mut())?;
        self.done.push(Done { step, start, end: Instant::now(), bytes });
        Ok(value)
    }

    fn write_file(&mut self, file: u64, bytes: u64, fsync: bool) -> Result<()> {
        let path = self.path(file);
        // Known as ours before it is made, so that a failure half way is cleaned up, too.
        self.files.insert(file, Made { bytes: 0, renamed: false });
        let open = self.timed(Step::Create, 0, |target| target.create(&path))?;
        self.fill(open, file, bytes, fsync)
    }

    fn append_file(&mut self, file: u64, bytes: u64) -> Result<()> {
        let path = self.path(file);
        let open = self.timed(Step::Append, 0, |target| target.append(&path))?;
        self.fill(open, file, bytes, self.plan.target.wants_fsync())
    }

    /// Write `bytes` more to an open file and close it.
    fn fill(&mut self, mut open: Box<dyn File>, file: u64, bytes: u64, fsync: bool) -> Result<()> {
        let from = self.files.get(&file).map_or(0, |made| made.bytes);
        let transfer = self.plan.stream.transfer_size_bytes;
        let mut written = 0;
        while written < bytes {
            let length = transfer.min(bytes - written);
            let chunk = self.content.slice(self.number, file, from + written, length as usize);
            self.timed(Step::Write, length, |_| open.write(chunk))?;
            written += length;
        }
        if fsync {
            self.timed(Step::Fsync, 0, |_| open.fsync())?;
        }
        self.timed(Step::Close, 0, |_| open.close())?;
        if let Some(made) = self.files.get_mut(&file) {
            made.bytes += bytes;
        }
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
        match self.content.first_difference(self.number, file, offset, seen) {
            None => Ok(()),
            Some(place) => {
                let reason = format!("byte {place} is not what was written");
                Err(Error::new(ErrorKind::Corruption, "read", path, reason))
            }
        }
    }

    fn rename_file(&mut self, file: u64) -> Result<()> {
        let from = self.path(file);
        let mut made = self.files.get(&file).copied().unwrap_or(Made { bytes: 0, renamed: false });
        made.renamed = !made.renamed;
        let to = format!("c{}/{}{file}", self.number, if made.renamed { 'r' } else { 'f' });
        self.timed(Step::Rename, 0, |target| target.rename(&from, &to))?;
        self.files.insert(file, made);
        Ok(())
    }

    /// Read back every file that is left and compare its content.
    pub fn verify_all(&mut self, record: &mut Record) -> Result<()> {
        let transfer = self.plan.stream.transfer_size_bytes as usize;
        for (file, made) in self.files.clone() {
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
            if offset != made.bytes {
                let reason = format!("has {offset} bytes, {} were written", made.bytes);
                return Err(Error::new(ErrorKind::Corruption, "verify", &path, reason));
            }
            record.verified_bytes += offset;
        }
        Ok(())
    }

    /// Remove what this client made, and nothing else; the first error is told, the rest tried.
    pub fn clean_up(&mut self) -> Result<()> {
        let mut first = Ok(());
        let mut keep = |outcome: Result<()>| match outcome {
            Err(error) if error.kind != ErrorKind::NotFound && first.is_ok() => first = Err(error),
            _ => {}
        };
        for file in self.files.keys().copied().collect::<Vec<_>>() {
            let path = self.path(file);
            keep(self.target.delete(&path));
        }
        for directory in &self.directories {
            keep(self.target.rmdir(&format!("c{}/d{directory}", self.number)));
        }
        if self.has_directory {
            let directory = self.directory();
            keep(self.target.rmdir(&directory));
        }
        first
    }
}
