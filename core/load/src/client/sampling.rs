//! Checks a sample of the content that clients read and wrote, for plans with `verify` "sample".
//!
//! Two checks are made:
//! - During the timed part, the first and last bytes of some reads are compared with the expected
//!   content.
//! - After the timed part, some files are checked: their sizes, and their first and last bytes. The
//!   bytes of each client's last writes are checked too.
//!
//! A sample finds a file system that returns zeros, loses or repeats writes, or damages many
//! blocks. To find rare damage, a plan needs `verify` "inline" or "after".

use dfslab_workload::Prepare;

use crate::client::{Client, Made};
use crate::content::sample::Written;
use crate::execution::watch::Work;
use crate::step::Step;
use crate::{Error, ErrorKind, Result};

/// Number of bytes that are compared at the start of a read, and likewise at its end.
const END_BYTES: usize = 64;
/// Number of files that all clients together check after the timed part; each client checks at
/// least one. In addition, each client checks the files of its last writes. These are at most
/// LAST_WRITES files.
const MOST_FILES: usize = 32;
/// Number of bytes that are read at each checked place after the timed part. The places are the
/// start and the end of each checked file, and the offset of each last write.
const BLOCK_BYTES: u64 = 4096;

impl Client<'_> {
    /// Whether a file certainly has the bytes with which it was created. There are three cases:
    /// - If the preparation left the files empty, this is uncertain.
    /// - For this client's own file, it is uncertain if the client has written to the file or may
    ///   have changed it. The bytes then depend on the order of the writes, which a sample does not
    ///   record.
    /// - Files of other clients count as unchanged, since clients write to them only the bytes with
    ///   which they were created.
    fn is_as_created(&self, (owner, file): (u32, u64)) -> bool {
        let begins_empty = self.setup.plan.stream.prepare == Prepare::Empty;
        let is_changed = |made: Made| made.doubtful || made.generation > 0;
        let own = self.made(file).filter(|_| owner == self.number);
        !begins_empty && !own.is_some_and(is_changed)
    }

    /// Compares the first and last bytes of a read at `offset` of a file with the expected content.
    /// Returns the number of compared bytes, or an error that names the first difference.
    #[cold]
    pub(crate) fn check_ends(
        &mut self,
        of: (u32, u64),
        offset: u64,
        observed: &[u8],
    ) -> Result<u64> {
        if !self.is_as_created(of) {
            return Ok(0);
        }
        let first = END_BYTES.min(observed.len());
        let last = observed.len().saturating_sub(END_BYTES).max(first);
        let checked = self
            .check(of, offset, &observed[..first])
            .and_then(|()| self.check(of, offset + last as u64, &observed[last..]));
        if let Err(mut error) = checked {
            self.go_to(of.0, of.1);
            error.path.clone_from(&self.path);
            return Err(error);
        }
        Ok((first + observed.len() - last) as u64)
    }

    /// Checks some of the client's files after the timed part. Calls `wrong` with each error, and
    /// returns the number of compared bytes. Ends early once `stop` returns true. Checks nothing if
    /// other clients may have changed the files.
    pub fn verify_sample(&mut self, stop: &dyn Fn() -> bool, wrong: &mut dyn FnMut(&Error)) -> u64 {
        if !self.sample.is_active || self.setup.takes_others {
            return 0;
        }
        let mut bytes = 0;
        for file in self.sampled_files() {
            if stop() {
                break;
            }
            match self.verify_ends(file) {
                Ok(compared) => bytes += compared,
                Err(error) => wrong(&error),
            }
        }
        bytes
    }

    /// The numbers of the files to check. They are some of the client's files, evenly spaced, and
    /// the files with the client's last writes. Files whose last change may have failed are left
    /// out.
    fn sampled_files(&self) -> Vec<u64> {
        let mut files = self.own_files();
        files.retain(|file| !self.files[*file as usize].doubtful);
        let most = (MOST_FILES / self.setup.plan.stream.clients as usize).max(1);
        let step = files.len().div_ceil(most).max(1);
        let last = self.sample.last_writes.iter().flatten();
        let last: Vec<u64> = last.map(|write| write.file).collect();
        let is_last = |file: &u64| last.contains(file);
        let chosen = files.iter().enumerate();
        chosen
            .filter(|(place, file)| place % step == 0 || is_last(file))
            .map(|(_, file)| *file)
            .collect()
    }

    /// Checks one of the client's files: its size, its first and last bytes, and the bytes of the
    /// client's last writes to it. Returns the number of compared bytes.
    fn verify_ends(&mut self, file: u64) -> Result<u64> {
        let made = self.files[file as usize];
        self.go_to(self.number, file);
        self.slot.work(Work::Verify);
        self.slot.begin(Step::Stat, Some(file), self.clock.now());
        let bytes = self.target.stat(&self.path)?;
        if bytes != made.bytes {
            let reason = format!("has {bytes} bytes, {} were written", made.bytes);
            return Err(self.corrupt(reason));
        }
        let mut parts = Vec::new();
        if bytes > 0 && self.is_as_created((self.number, file)) {
            let transfer = self.setup.plan.stream.transfer_size_bytes;
            parts.extend(ends(bytes, transfer).map(|(offset, length)| (offset, length, 0)));
        }
        // A write of no bytes, which is possible in an empty file, leaves nothing to compare.
        let holds = |last: &Written| last.bytes > 0 && last.offset + last.bytes <= bytes;
        let written = self.sample.lasting_writes(file);
        for last in written.iter().filter(|last| holds(last)) {
            parts.push((last.offset, last.bytes, last.generation));
        }
        match parts.is_empty() {
            true => Ok(0),
            false => self.compare(file, &parts),
        }
    }

    /// Compares at most BLOCK_BYTES bytes of each of the `parts` of a file with the expected
    /// content. An entry of `parts` is (offset, length in bytes, number of the overwrite that wrote
    /// the bytes). Returns the number of compared bytes.
    fn compare(&mut self, file: u64, parts: &[(u64, u64, u32)]) -> Result<u64> {
        let transfer = self.setup.plan.stream.transfer_size_bytes;
        let mut open = self.target.open(&self.path)?;
        let (mut buffer, from) = self.take_buffer();
        let mut compared = 0;
        let mut outcome = Ok(());
        for &(offset, bytes, generation) in parts {
            let length = bytes.min(BLOCK_BYTES).min(transfer) as usize;
            let block = &mut buffer[from..from + length];
            self.slot.begin(Step::Read, Some(file), self.clock.now());
            outcome = open.read_at(block, offset).and_then(|got| {
                let content = &self.setup.content;
                let of = (file, generation);
                let differs = content.first_difference(self.number, of, offset, &block[..got]);
                compared += got as u64;
                match differs {
                    None if got > 0 => Ok(()),
                    None => Err(self.corrupt(format!("ends at {offset}"))),
                    Some(place) => {
                        Err(self.corrupt(format!("byte {place} is not what was written")))
                    }
                }
            });
            if outcome.is_err() {
                break;
            }
        }
        self.return_buffer(buffer);
        let closed = outcome.and_then(|()| open.close());
        closed.map_err(|error| self.named(error))?;
        Ok(compared)
    }

    fn corrupt(&self, reason: String) -> Error {
        Error::new(ErrorKind::Corruption, "verify", &self.path, reason)
    }
}

/// The first and the last block of a file of `bytes` bytes, each as (offset, length). The blocks do
/// not overlap. If the file is no longer than one block, only the first block is returned.
fn ends(bytes: u64, transfer: u64) -> impl Iterator<Item = (u64, u64)> {
    let first = BLOCK_BYTES.min(transfer).min(bytes);
    let last = first.max(bytes - first);
    let blocks = [(0, first), (last, bytes - last)];
    blocks.into_iter().filter(|(_, length)| *length > 0)
}

#[cfg(test)]
mod tests;
