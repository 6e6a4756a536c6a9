//! Executes operations on a target (the file system under load). Each operation is a sequence of
//! timed calls.

use dfslab_workload::{Operation, OperationKind, Order, Passage, TransferSequence};

use crate::client::{Client, Made};
use crate::content::sample::Written;
use crate::record::Record;
use crate::step::Step;
use crate::target::{File, ATTRIBUTE};
use crate::{Error, ErrorKind, Result};

/// The permissions that chmod operations set alternately.
const MODES: [u32; 2] = [0o600, 0o644];
/// The result of executing a batch of operations: how many were executed, and when the last one
/// began.
pub struct Ran {
    /// Number of operations that were begun and have ended.
    pub begun: usize,
    /// Start of the last operation that was begun, ns of the monotonic clock.
    pub last_begun: u64,
}

impl<'a> Client<'a> {
    /// Executes operations back to back; the first one starts at `self.now`. After each operation,
    /// calls `go_on` with the end time of the operation. Stops when `go_on` returns false or an
    /// operation fails. In an open workload, `due` has the scheduled starts of the operations. All
    /// times are in ns of the monotonic clock.
    // One call serves a whole batch. A function of its own has registers enough for the loop.
    #[inline(never)]
    pub fn execute_row(
        &mut self,
        operations: &[Operation],
        due: Option<&[u64]>,
        record: &mut Record,
        go_on: impl Fn(u64) -> bool,
    ) -> Ran {
        let mut ran = Ran {
            begun: 0,
            last_begun: self.now,
        };
        for operation in operations {
            ran.last_begun = self.now;
            let scheduled = due.map(|due| due[ran.begun]);
            ran.begun += 1;
            if !self.execute(operation, scheduled, record) || !go_on(self.now) {
                break;
            }
        }
        ran
    }

    /// Executes and records one operation. `scheduled` is the operation's scheduled start in an
    /// open workload, ns of the monotonic clock. Returns whether the operation succeeded.
    #[inline(always)]
    pub fn execute(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> bool {
        let done = match operation.kind {
            OperationKind::Pread => self.read_at_once(operation, scheduled, record),
            OperationKind::Pwrite => self.write_at_once(operation, scheduled, record),
            OperationKind::Create => self.create_at_once(operation, scheduled, record),
            OperationKind::Stat => self.stat_at_once(operation, scheduled, record),
            OperationKind::Delete => self.delete_at_once(operation, scheduled, record),
            _ => None,
        };
        match done {
            Some(succeeded) => succeeded,
            None => self.execute_step_by_step(operation, scheduled, record),
        }
    }

    #[inline(never)]
    fn execute_step_by_step(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> bool {
        self.done.clear();
        let start = self.clock.now();
        self.now = start;
        match self.perform(operation, record) {
            Ok(()) => {
                record.succeeded(operation, scheduled, (start, self.now), &self.done);
                // The clock is read again, since the time for closing files and comparing content
                // must not count towards the next operation.
                self.read_clock();
                true
            }
            Err(error) => {
                self.fail(operation, error, record);
                false
            }
        }
    }

    #[cold]
    pub(crate) fn fail(&mut self, operation: &Operation, error: Error, record: &mut Record) {
        if matches!(operation.kind, OperationKind::Pread | OperationKind::Pwrite) {
            self.go_to(operation.owner, operation.file);
        }
        record.failed(operation, self.now, &self.named(error));
    }

    #[inline]
    fn perform(&mut self, operation: &Operation, record: &mut Record) -> Result<()> {
        let (owner, file) = (operation.owner, operation.file);
        match operation.kind {
            OperationKind::Pread => self.read_at(operation, record),
            OperationKind::Pwrite => self.write_at(operation),
            OperationKind::Stat => {
                self.go_to(owner, file);
                self.timed(Step::Stat, 0, |target, path| target.stat(path))
                    .map(drop)
            }
            OperationKind::Read => self.read_file(operation, record),
            OperationKind::Write => {
                let fsync = self.setup.rule(operation.phase, operation.kind).fsync;
                self.write_file(file, operation.size_bytes, fsync)
            }
            OperationKind::Create => self.write_file(file, 0, false),
            OperationKind::Append => self.append_file(operation),
            OperationKind::Overwrite => self.overwrite_file(operation),
            OperationKind::Rename => self.rename_file(file),
            OperationKind::Delete => self.delete_file(file),
            _ => self.perform_other(operation),
        }
    }

    /// Executes an operation of one of the slower types, for which the cost of the dispatch by type
    /// does not matter.
    fn perform_other(&mut self, operation: &Operation) -> Result<()> {
        let (owner, file) = (operation.owner, operation.file);
        self.go_to(owner, file);
        match operation.kind {
            OperationKind::List => {
                self.go_to_listed(owner, file);
                self.timed(Step::List, 0, |target, path| target.list(path))
                    .map(drop)
            }
            OperationKind::Mkdir => {
                self.go_to_directory(file);
                self.timed(Step::Mkdir, 0, |target, path| target.mkdir(path))?;
                self.directories.push(file);
                Ok(())
            }
            OperationKind::Rmdir => self.remove_directory(file),
            OperationKind::Exists => {
                let there = self.timed(Step::Exists, 0, |target, path| target.exists(path))?;
                let missing = || Error::new(ErrorKind::NotFound, "exists", &self.path, "not there");
                there.then_some(()).ok_or_else(missing)
            }
            OperationKind::Open => {
                let writing = self.setup.holds_for_writing;
                let open = self.timed(Step::Open, 0, |target, path| match writing {
                    true => target.open_write(path),
                    false => target.open(path),
                })?;
                self.set_open_file(owner, file, Some(open));
                Ok(())
            }
            OperationKind::Close => match self.set_open_file(owner, file, None) {
                Some(open) => self.timed(Step::Close, 0, |_, _| open.close()),
                None => {
                    let reason = "opening it failed before";
                    Err(Error::new(ErrorKind::NotFound, "close", &self.path, reason))
                }
            },
            OperationKind::Fsync => {
                let mut open = self.taken(owner, file)?;
                let outcome = self.timed(Step::Fsync, 0, |_, _| open.fsync());
                self.set_open_file(owner, file, Some(open));
                outcome
            }
            OperationKind::Truncate => self.truncate_file(operation),
            OperationKind::Chmod => {
                let mode = MODES[(operation.index & 1) as usize];
                self.timed(Step::Chmod, 0, |target, path| target.chmod(path, mode))
            }
            OperationKind::SetXattr => {
                let value = &ATTRIBUTE;
                self.timed(Step::SetXattr, 0, |target, path| {
                    target.set_xattr(path, value)
                })
            }
            OperationKind::GetXattr => {
                let got = self.timed(Step::GetXattr, 0, |target, path| target.get_xattr(path))?;
                let reason = format!("{got} bytes, {} were set", ATTRIBUTE.len());
                let wrong = || Error::new(ErrorKind::Corruption, "get_xattr", &self.path, reason);
                (got == ATTRIBUTE.len()).then_some(()).ok_or_else(wrong)
            }
            OperationKind::Lock => {
                let mut open = self.timed(Step::Open, 0, |target, path| target.open_write(path))?;
                self.timed(Step::Lock, 0, |_, _| open.lock())?;
                self.timed(Step::Unlock, 0, |_, _| open.unlock())?;
                self.timed(Step::Close, 0, |_, _| open.close())
            }
            kind => unreachable!("{} is done elsewhere", kind.name()),
        }
    }

    /// Stores `open` in the table of open files under a file's owner and number, or clears this
    /// entry if `open` is None. Returns the previous entry.
    #[inline]
    pub(crate) fn set_open_file(
        &mut self,
        owner: u32,
        file: u64,
        open: Option<Box<dyn File>>,
    ) -> Option<Box<dyn File>> {
        if owner != self.number {
            return match open {
                Some(open) => self.open_files_of_others.insert((owner, file), open),
                None => self.open_files_of_others.remove(&(owner, file)),
            };
        }
        let place = file as usize;
        if place >= self.open_files.len() {
            // The table is not made longer for an empty entry. If the table had an entry for every
            // file number ever used, it would need more memory than the open files themselves.
            open.as_ref()?;
            self.open_files.resize_with(place + 1, || None);
        }
        std::mem::replace(&mut self.open_files[place], open)
    }

    /// Takes an open file out of the table of open files. A file that is not in the table is
    /// opened. The caller puts the open file into the table with `set_open_file`.
    #[inline]
    fn taken(&mut self, owner: u32, file: u64) -> Result<Box<dyn File>> {
        let own = owner == self.number;
        if let Some(open) = self.open_files.get_mut(file as usize).filter(|_| own) {
            if let Some(open) = open.take() {
                return Ok(open);
            }
        }
        if let Some(open) = self.set_open_file(owner, file, None) {
            return Ok(open);
        }
        self.go_to(owner, file);
        let writing = self.setup.holds_for_writing;
        self.timed(Step::Open, 0, |target, path| match writing {
            true => target.open_write(path),
            false => target.open(path),
        })
    }

    /// Opens a file and stores it in the table of open files, unless it is in the table already.
    pub(crate) fn ensure_open(&mut self, owner: u32, file: u64) -> Result<()> {
        let open = self.taken(owner, file)?;
        self.set_open_file(owner, file, Some(open));
        Ok(())
    }

    fn append_file(&mut self, operation: &Operation) -> Result<()> {
        let file = operation.file;
        self.go_to(self.number, file);
        let made = self.must_be_own("append", file)?;
        let open = self.timed(Step::Append, 0, |target, path| target.append(path))?;
        self.doubt(file);
        let fsync = self.setup.rule(operation.phase, operation.kind).fsync;
        self.fill(open, file, made, operation.size_bytes, fsync)
    }

    fn rename_file(&mut self, file: u64) -> Result<()> {
        self.go_to(self.number, file);
        let made = self.must_be_own("rename", file)?;
        self.doubt(file);
        let from = std::mem::take(&mut self.path);
        self.go_to_name(file, !made.renamed);
        let outcome = self.timed(Step::Rename, 0, |target, to| target.rename(&from, to));
        outcome?;
        if self.target.opens_by_name() {
            self.set_open_file(self.number, file, None);
        }
        let renamed = !made.renamed;
        self.set_made(file, Made { renamed, ..made });
        Ok(())
    }

    fn delete_file(&mut self, file: u64) -> Result<()> {
        self.go_to(self.number, file);
        self.must_be_own("delete", file)?;
        self.timed(Step::Delete, 0, |target, path| target.delete(path))?;
        self.set_made(file, Made::default());
        self.set_open_file(self.number, file, None);
        Ok(())
    }

    fn remove_directory(&mut self, directory: u64) -> Result<()> {
        self.go_to_directory(directory);
        let Some(place) = self.directories.iter().position(|d| *d == directory) else {
            let reason = "making it failed before";
            return Err(Error::new(ErrorKind::NotFound, "rmdir", &self.path, reason));
        };
        self.timed(Step::Rmdir, 0, |target, path| target.rmdir(path))?;
        self.directories.remove(place);
        Ok(())
    }

    fn truncate_file(&mut self, operation: &Operation) -> Result<()> {
        let made = self.must_be_own("truncate", operation.file)?;
        self.doubt(operation.file);
        self.sample.forget(operation.file);
        let bytes = operation.size_bytes;
        self.timed(Step::Truncate, 0, |target, path| {
            target.truncate(path, bytes)
        })?;
        self.set_made(operation.file, Made { bytes, ..made });
        // An append behind the truncated end writes its bytes for the first time. The number of
        // overwrites of these bytes is therefore reset to 0.
        self.wrote_over(operation.file, bytes, u64::MAX, Some(0));
        Ok(())
    }

    /// Marks a file's state as doubtful. It is called before a change whose outcome is not yet
    /// known.
    fn doubt(&mut self, file: u64) {
        if let Some(made) = self.made(file) {
            let doubtful = true;
            self.set_made(file, Made { doubtful, ..made });
        }
    }

    /// Returns the sequence of transfers (offset and size) of an operation. The operation opens its
    /// file itself, instead of using a file that is kept open.
    fn transfers(&self, operation: &Operation) -> TransferSequence<'a> {
        let access = &self.setup.rule(operation.phase, operation.kind).access;
        let stream = &self.setup.plan.stream;
        let file_bytes = match access.is_whole() || !stream.given.is_empty() {
            true => operation.size_bytes,
            false => operation.offset_bytes,
        };
        let passage = Passage {
            seed: stream.seed,
            client: self.number,
            clients: stream.clients,
            file: operation.file,
            file_bytes,
            transfer_size_bytes: operation.transfer_size_bytes,
            index: operation.index,
        };
        TransferSequence::new(access, passage)
    }

    fn read_file(&mut self, operation: &Operation, record: &mut Record) -> Result<()> {
        let (mut buffer, from) = self.take_buffer();
        let outcome = self.read_all(operation, &mut buffer[from..], record);
        self.return_buffer(buffer);
        outcome
    }

    fn read_all(
        &mut self,
        operation: &Operation,
        buffer: &mut [u8],
        record: &mut Record,
    ) -> Result<()> {
        let of = (operation.owner, operation.file);
        self.go_to(of.0, of.1);
        let access = &self.setup.rule(operation.phase, operation.kind).access;
        let sequential = access.order == Order::Sequential && !access.reopen;
        let mut open = self.timed(Step::Open, 0, |target, path| target.open(path))?;
        for (turn, (offset, length)) in self.transfers(operation).enumerate() {
            if access.reopen && turn > 0 {
                self.timed(Step::Close, 0, |_, _| open.close())?;
                open = self.timed(Step::Open, 0, |target, path| target.open(path))?;
            }
            let part = (offset, &mut buffer[..length as usize]);
            self.read_part(&mut open, of, part, sequential, record)?;
        }
        self.timed(Step::Close, 0, |_, _| open.close())
    }

    /// Fills the buffer `part` with the bytes of an open file that start at `offset`, by one or
    /// more read calls. Checks the bytes if the plan requests it. Returns an error if the file ends
    /// before the buffer is full.
    fn read_part(
        &mut self,
        open: &mut Box<dyn File>,
        of: (u32, u64),
        (offset, part): (u64, &mut [u8]),
        sequential: bool,
        record: &mut Record,
    ) -> Result<()> {
        let mut filled = 0;
        while filled < part.len() {
            let rest = &mut part[filled..];
            let wanted = rest.len() as u64;
            let at = offset + filled as u64;
            let got = self.timed(Step::Read, wanted, |_, _| match sequential {
                true => open.read(rest),
                false => open.read_at(rest, at),
            })?;
            if let Some(done) = self.done.last_mut() {
                done.bytes = got as u64;
            }
            if got == 0 {
                let reason = format!("ends at {at}, {wanted} bytes too early");
                return Err(Error::new(
                    ErrorKind::Corruption,
                    "read",
                    &self.path,
                    reason,
                ));
            }
            if self.verifies {
                self.check(of, at, &part[filled..filled + got])?;
                record.verified_bytes += got as u64;
                self.read_clock();
            } else if self.sample.takes_read() {
                record.verified_bytes += self.check_ends(of, at, &part[filled..filled + got])?;
                // The time of the comparison must not count as part of the next call.
                self.read_clock();
            }
            filled += got;
        }
        Ok(())
    }

    fn overwrite_file(&mut self, operation: &Operation) -> Result<()> {
        let (owner, file) = (operation.owner, operation.file);
        self.go_to(owner, file);
        let rule = self.setup.rule(operation.phase, operation.kind);
        let every = self.setup.plan.target.wants_fsync_of_writes();
        let mut open = self.timed(Step::Open, 0, |target, path| target.open_write(path))?;
        let (setup, page) = (self.setup, self.first_page(owner, file));
        let generation = self.next_generation(owner, file);
        for (turn, (offset, length)) in self.transfers(operation).enumerate() {
            if rule.access.reopen && turn > 0 {
                self.timed(Step::Close, 0, |_, _| open.close())?;
                open = self.timed(Step::Open, 0, |target, path| target.open_write(path))?;
            }
            let of_page = (page, generation);
            let chunk = setup.content.lent(of_page, offset, length as usize);
            let written = self.timed(Step::Write, length, |_, _| open.write_at(chunk, offset));
            if owner == self.number {
                let generation = written.is_ok().then_some(generation);
                self.wrote_over(file, offset, offset + length, generation);
                match generation {
                    Some(generation) => self.sample.wrote(Written {
                        file,
                        offset,
                        bytes: length,
                        generation,
                    }),
                    None => self.sample.forget(file),
                }
            }
            written?;
            if every {
                self.timed(Step::Fsync, 0, |_, _| open.fsync())?;
            }
        }
        if rule.fsync && !every {
            self.timed(Step::Fsync, 0, |_, _| open.fsync())?;
        }
        self.timed(Step::Close, 0, |_, _| open.close())
    }
}
