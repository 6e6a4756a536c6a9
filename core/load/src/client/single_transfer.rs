//! Fast paths for a single transfer in an open file. These functions do only the work that such an
//! operation needs, which keeps the generator's overhead per operation small.
//!
//! If the scheduled start of a transfer has passed, the transfer starts at the recorded end of the
//! previous operation. The clock is not read again, since the gap is shorter than a clock read.
//! Code that does further work after an operation reads the clock itself.

use std::collections::BTreeMap;

use dfslab_workload::Operation;

use crate::client::Client;
use crate::content::sample::Written;
use crate::record::Record;
use crate::step::Step;
use crate::target::File;
use crate::{Error, ErrorKind, Result};

impl Client<'_> {
    /// Reads from an open file and returns whether the read succeeded. Does nothing and returns
    /// None in three cases: the file is not open, metadata-server calls are to be recorded, or
    /// every read is to be compared with the expected content. The caller then uses
    /// `execute_step_by_step`.
    #[inline(always)]
    pub(crate) fn read_at_once(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> Option<bool> {
        if self.reports_calls || self.verifies {
            return None;
        }
        let (of, offset) = ((operation.owner, operation.file), operation.offset_bytes);
        let size = operation.size_bytes;
        let range = self.buffer_start..self.buffer_start + size as usize;
        let open = open_file(
            self.number,
            &mut self.open_files,
            &mut self.open_files_of_others,
            of,
        )?;
        let start = self.now;
        self.slot.begin(Step::Read, Some(of.1), start);
        let got = open.read_at(&mut self.buffer[range], offset);
        let end = self.clock.now();
        self.now = end;
        let error = match got {
            Ok(got) if got as u64 == size => {
                if self.sample.takes_read() {
                    if let Err(error) = self.check_sample(of, offset, size, record) {
                        self.fail(operation, error, record);
                        return Some(false);
                    }
                    // The time of the comparison must not count as part of the next operation.
                    self.read_clock();
                }
                record.succeeded_at_once(operation, scheduled, (start, end), Step::Read);
                return Some(true);
            }
            Ok(got) => self.ends_early(operation, got as u64),
            Err(error) => error,
        };
        self.fail(operation, error, record);
        Some(false)
    }

    /// Writes to an open file and returns whether the write succeeded. Writes nothing and returns
    /// None in four cases: the file is not open, metadata-server calls are to be recorded, all
    /// content is to be checked, or the write is to be synced. The caller then uses
    /// `execute_step_by_step`.
    #[inline(always)]
    pub(crate) fn write_at_once(
        &mut self,
        operation: &Operation,
        scheduled: Option<u64>,
        record: &mut Record,
    ) -> Option<bool> {
        let setup = self.setup;
        let checked = setup.plan.verify.checks_all();
        if self.reports_calls || checked || setup.rule(operation.phase, operation.kind).fsync {
            return None;
        }
        let (of, offset) = ((operation.owner, operation.file), operation.offset_bytes);
        let size = operation.size_bytes;
        let (page, own) = (self.first_page(of.0, of.1), of.0 == self.number);
        let open = open_file(
            self.number,
            &mut self.open_files,
            &mut self.open_files_of_others,
            of,
        )?;
        let its = self.files.get_mut(of.1 as usize);
        let generation = its.filter(|_| own).map_or(0, |made| made.next(setup));
        let chunk = (setup.content).lent((page, generation), offset, size as usize);
        let start = self.now;
        self.slot.begin(Step::Write, Some(of.1), start);
        let written = open.write_at(chunk, offset);
        let end = self.clock.now();
        self.now = end;
        if own {
            self.grown(of.1, offset + size, written.is_ok());
            if written.is_ok() {
                self.sample.wrote(Written {
                    file: of.1,
                    offset,
                    bytes: size,
                    generation,
                });
            }
        }
        match written {
            Ok(()) => record.succeeded_at_once(operation, scheduled, (start, end), Step::Write),
            Err(error) => {
                self.fail(operation, error, record);
                return Some(false);
            }
        }
        Some(true)
    }

    #[inline]
    pub(crate) fn read_at(&mut self, operation: &Operation, record: &mut Record) -> Result<()> {
        let (of, offset) = ((operation.owner, operation.file), operation.offset_bytes);
        let size = operation.size_bytes;
        let range = self.buffer_start..self.buffer_start + size as usize;
        let Some(open) = open_file(
            self.number,
            &mut self.open_files,
            &mut self.open_files_of_others,
            of,
        ) else {
            self.ensure_open(of.0, of.1)?;
            return self.read_at(operation, record);
        };
        self.slot.begin(Step::Read, Some(of.1), self.now);
        let got = open.read_at(&mut self.buffer[range.clone()], offset);
        let got = self.noted(Step::Read, size, got)? as u64;
        if got != size {
            return Err(self.ends_early(operation, got));
        }
        if self.verifies {
            self.check(of, offset, &self.buffer[range])?;
            record.verified_bytes += size;
        } else if self.sample.takes_read() {
            self.check_sample(of, offset, size, record)?;
        }
        Ok(())
    }

    /// Compares the first and last bytes of a read of `size` bytes with the expected content. The
    /// bytes that were read are in the client's buffer.
    #[cold]
    fn check_sample(
        &mut self,
        of: (u32, u64),
        offset: u64,
        size: u64,
        record: &mut Record,
    ) -> Result<()> {
        let (buffer, from) = self.take_buffer();
        let checked = self.check_ends(of, offset, &buffer[from..from + size as usize]);
        self.return_buffer(buffer);
        record.verified_bytes += checked?;
        Ok(())
    }

    /// Creates the error for a read of `got` bytes that ended before the expected end of the file.
    #[cold]
    fn ends_early(&mut self, operation: &Operation, got: u64) -> Error {
        self.go_to(operation.owner, operation.file);
        let (wanted, offset) = (operation.size_bytes, operation.offset_bytes);
        let reason = format!("{got} of {wanted} bytes at {offset}");
        Error::new(ErrorKind::Corruption, "read", &self.path, reason)
    }

    #[inline]
    pub(crate) fn write_at(&mut self, operation: &Operation) -> Result<()> {
        let (of, offset) = ((operation.owner, operation.file), operation.offset_bytes);
        let size = operation.size_bytes;
        let (setup, page) = (self.setup, self.first_page(of.0, of.1));
        let own = of.0 == self.number;
        let Some(open) = open_file(
            self.number,
            &mut self.open_files,
            &mut self.open_files_of_others,
            of,
        ) else {
            self.ensure_open(of.0, of.1)?;
            return self.write_at(operation);
        };
        let its = self.files.get_mut(of.1 as usize);
        let generation = its.filter(|_| own).map_or(0, |made| made.next(setup));
        let chunk = setup
            .content
            .lent((page, generation), offset, size as usize);
        self.slot.begin(Step::Write, Some(of.1), self.now);
        let written = open.write_at(chunk, offset);
        let mut outcome = self.noted(Step::Write, size, written);
        if own {
            let generation = outcome.is_ok().then_some(generation);
            self.wrote_over(of.1, offset, offset + size, generation);
            if let Some(generation) = generation {
                self.sample.wrote(Written {
                    file: of.1,
                    offset,
                    bytes: size,
                    generation,
                });
            }
        }
        if setup.rule(operation.phase, operation.kind).fsync && outcome.is_ok() {
            outcome = self.force(of);
        }
        if own {
            self.grown(of.1, offset + size, outcome.is_ok());
        }
        outcome
    }

    /// Forces the data of an open file, given as (owner, number), to disk.
    fn force(&mut self, of: (u32, u64)) -> Result<()> {
        let open = open_file(
            self.number,
            &mut self.open_files,
            &mut self.open_files_of_others,
            of,
        );
        self.slot.begin(Step::Fsync, Some(of.1), self.now);
        let outcome = open.expect("it was written to").fsync();
        self.noted(Step::Fsync, 0, outcome)
    }

    /// Updates the recorded length of one of the client's files after a write that ended at offset
    /// `end`. If the write failed (`certain` is false), the file's state becomes doubtful.
    #[inline]
    fn grown(&mut self, file: u64, end: u64, certain: bool) {
        let made = self.files.get_mut(file as usize);
        if let Some(made) = made.filter(|made| made.there) {
            made.bytes = made.bytes.max(end);
            made.doubtful |= !certain;
        }
    }
}

/// Returns the open file with this owner and number from the tables of open files; None if it is
/// not open.
#[inline]
fn open_file<'h>(
    client: u32,
    own: &'h mut [Option<Box<dyn File>>],
    others: &'h mut BTreeMap<(u32, u64), Box<dyn File>>,
    (owner, file): (u32, u64),
) -> Option<&'h mut Box<dyn File>> {
    match owner == client {
        true => own.get_mut(file as usize)?.as_mut(),
        false => others.get_mut(&(owner, file)),
    }
}
