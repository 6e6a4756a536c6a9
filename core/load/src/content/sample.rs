//! Chooses the sample of reads and writes whose content is checked, for plans with `verify`
//! "sample".

use crate::plan::{Plan, Verify};

/// Number of a client's first reads that are all checked.
const FIRST_READS: u64 = 64;
/// One read in this number of reads is checked, in addition to a client's first reads. A check
/// takes about 100 ns. The checks therefore take less than 1 % of the time of reads that take 1 µs.
const READS_PER_CHECK: u64 = 64;
/// Number of a client's last writes that are checked. One write is not enough. A faulty file system
/// might send all writes to one offset, and the last write may be the one that belongs there.
const LAST_WRITES: usize = 8;

/// A write to one of a client's files. It has the file, the range of bytes, and the number of the
/// overwrite (`generation`). This number determines the written bytes.
#[derive(Clone, Copy)]
pub struct Written {
    pub file: u64,
    pub offset: u64,
    pub bytes: u64,
    pub generation: u32,
}

/// Decides which reads of a client are checked, and stores the client's last writes.
pub struct ReadSample {
    /// Whether the plan requests a sample, and the content of all files is known.
    pub(crate) is_active: bool,
    /// Number of reads up to and including the next read that is checked.
    reads_left: u64,
    checked: u64,
    /// The last writes that succeeded, as a ring: the oldest one is at `next_write`.
    pub(crate) last_writes: [Option<Written>; LAST_WRITES],
    next_write: usize,
}

impl ReadSample {
    pub fn new(plan: &Plan) -> ReadSample {
        // In a replay, the content of files is not known: they may have holes, and the recorded
        // application determines the writes.
        let is_known = plan.target.capabilities().verify && plan.stream.given.is_empty();
        match plan.verify == Verify::Sample && is_known {
            true => ReadSample {
                is_active: true,
                reads_left: 1,
                ..ReadSample::none()
            },
            false => ReadSample::none(),
        }
    }

    /// A sample that checks nothing.
    pub fn none() -> ReadSample {
        ReadSample {
            is_active: false,
            reads_left: u64::MAX,
            checked: 0,
            last_writes: [None; LAST_WRITES],
            next_write: 0,
        }
    }

    /// Counts a read. Returns whether the read is to be checked.
    #[inline(always)]
    pub fn takes_read(&mut self) -> bool {
        self.reads_left -= 1;
        self.reads_left == 0 && self.choose_next()
    }

    #[cold]
    fn choose_next(&mut self) -> bool {
        self.checked += 1;
        self.reads_left = match self.checked < FIRST_READS {
            true => 1,
            false => READS_PER_CHECK,
        };
        true
    }

    /// Stores a successful write as the client's latest write. It replaces the oldest stored write.
    #[inline(always)]
    pub fn wrote(&mut self, write: Written) {
        if self.is_active {
            self.last_writes[self.next_write] = Some(write);
            self.next_write = (self.next_write + 1) % LAST_WRITES;
        }
    }

    /// Discards the last writes to this file, because the bytes at their offsets may have changed:
    /// the file was created again or truncated, or a later write failed.
    #[inline(always)]
    pub fn forget(&mut self, file: u64) {
        if self.is_active {
            let of_file = |write: &Option<Written>| write.is_some_and(|write| write.file == file);
            for write in self.last_writes.iter_mut().filter(|write| of_file(write)) {
                *write = None;
            }
        }
    }

    /// The last writes to a file, the newest one first. A write is left out if a newer write has
    /// overwritten at least a part of it.
    pub(crate) fn lasting_writes(&self, file: u64) -> Vec<Written> {
        let (newer, older) = self.last_writes.split_at(self.next_write);
        let mut lasting: Vec<Written> = Vec::new();
        for write in newer.iter().rev().chain(older.iter().rev()).flatten() {
            let overlaps = |later: &Written| {
                write.offset < later.offset + later.bytes
                    && later.offset < write.offset + write.bytes
            };
            if write.file == file && !lasting.iter().any(overlaps) {
                lasting.push(*write);
            }
        }
        lasting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reads_and_some_later_ones_are_checked() {
        let mut sample = ReadSample {
            is_active: true,
            reads_left: 1,
            ..ReadSample::none()
        };
        let checked = (0..FIRST_READS).filter(|_| sample.takes_read()).count();
        assert_eq!(checked as u64, FIRST_READS);
        let later = 10 * READS_PER_CHECK;
        let checked = (0..later).filter(|_| sample.takes_read()).count();
        assert_eq!(checked as u64, later / READS_PER_CHECK);
    }

    /// A write of 10 bytes.
    fn write(file: u64, offset: u64, generation: u32) -> Written {
        Written {
            file,
            offset,
            bytes: 10,
            generation,
        }
    }

    fn active() -> ReadSample {
        ReadSample {
            is_active: true,
            ..ReadSample::none()
        }
    }

    #[test]
    fn a_file_that_changes_after_the_last_write_is_no_fault() {
        let mut sample = active();
        sample.wrote(write(4, 0, 1));
        sample.forget(3);
        assert_eq!(sample.lasting_writes(4).len(), 1);
        sample.forget(4);
        assert!(sample.lasting_writes(4).is_empty());
    }

    #[test]
    fn a_write_that_a_newer_one_overwrote_is_not_compared() {
        let mut sample = active();
        for (offset, generation) in [(0, 1), (20, 2), (5, 3), (40, 4), (45, 5)] {
            sample.wrote(write(1, offset, generation));
        }
        let lasting: Vec<u32> = sample
            .lasting_writes(1)
            .iter()
            .map(|one| one.generation)
            .collect();
        assert_eq!(lasting, [5, 3, 2]);
    }

    #[test]
    fn only_the_newest_writes_are_kept() {
        let mut sample = active();
        for generation in 0..3 * LAST_WRITES as u32 + 3 {
            sample.wrote(write(1, 10 * u64::from(generation), generation));
        }
        let lasting: Vec<u32> = sample
            .lasting_writes(1)
            .iter()
            .map(|one| one.generation)
            .collect();
        let newest = 3 * LAST_WRITES as u32 + 2;
        let expected: Vec<u32> = (0..LAST_WRITES as u32).map(|back| newest - back).collect();
        assert_eq!(lasting, expected);
    }
}
