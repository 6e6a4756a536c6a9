//! Checks that a client's files have the bytes that are expected after all overwrites.

use crate::client::{Client, Made};
use crate::content::generations::UNKNOWN;
use crate::execution::setup::Setup;
use crate::execution::watch::Work;
use crate::report::AuditReport;
use crate::step::Step;
use crate::target::capabilities_of;
use crate::{Error, ErrorKind, Result, Status};

impl Made {
    /// Counts one more overwrite of this file and returns its number (the generation), which
    /// determines the bytes to write. Returns 0 in two cases: the file does not exist, or other
    /// clients may also write it. The order of the writes is unknown in the second case.
    #[inline]
    pub(crate) fn next(&mut self, setup: &Setup) -> u32 {
        if !self.there || setup.takes_others {
            return 0;
        }
        // Generations wrap around before UNKNOWN, which marks bytes of a write that may have
        // failed.
        self.generation = (self.generation + 1) % UNKNOWN;
        self.generation
    }
}

impl Client<'_> {
    /// Counts one more overwrite of a file and returns its number (the generation), which
    /// determines the bytes to write. Returns 0 for files of other clients, and for files that
    /// other clients may also write.
    pub(crate) fn next_generation(&mut self, owner: u32, file: u64) -> u32 {
        let own = owner == self.number;
        let made = self.files.get_mut(file as usize).filter(|_| own);
        made.map_or(0, |made| made.next(self.setup))
    }

    /// Records that overwrite number `generation` wrote the bytes [from, to) of one of the client's
    /// files. If `generation` is None, the write may have failed, and the bytes are marked as
    /// unknown. Does nothing if the plan does not check all content, or if clients access files of
    /// other clients.
    #[inline]
    pub(crate) fn wrote_over(&mut self, file: u64, from: u64, to: u64, generation: Option<u32>) {
        if self.setup.plan.verify.checks_all() && !self.setup.takes_others {
            let known = self.generations.entry(file).or_default();
            known.wrote(from, to, generation.unwrap_or(UNKNOWN));
        }
    }

    /// Compares `observed` with the expected content. `observed` has the bytes that were read at
    /// `offset` of a file. Returns an error that names the first byte that differs. Bytes that a
    /// failed write may have changed are not compared.
    pub(crate) fn check(
        &self,
        (owner, file): (u32, u64),
        offset: u64,
        observed: &[u8],
    ) -> Result<()> {
        let content = &self.setup.content;
        let end = offset + observed.len() as u64;
        let known = self.generations.get(&file).filter(|_| owner == self.number);
        let differs = match known {
            None => content.first_difference(owner, (file, 0), offset, observed),
            Some(known) => known
                .stretches(offset, end)
                .into_iter()
                .find_map(|stretch| {
                    let (from, to, generation) = stretch;
                    let part = &observed[(from - offset) as usize..(to - offset) as usize];
                    let of = (file, generation);
                    let unknown = generation == UNKNOWN;
                    (!unknown).then(|| content.first_difference(owner, of, from, part))?
                }),
        };
        match differs {
            None => Ok(()),
            Some(place) => {
                let reason = format!("byte {place} is not what was written");
                Err(Error::new(
                    ErrorKind::Corruption,
                    "read",
                    &self.path,
                    reason,
                ))
            }
        }
    }

    /// Reads each of the client's files completely and compares it with its expected content. Files
    /// whose last change may have failed are left out. Counts the results in `audit`, calls `wrong`
    /// with each error, and ends early once `stop` returns true. Once the target is unreachable,
    /// the remaining files count as unreadable. Returns the total size in bytes of the files whose
    /// content is as expected.
    pub fn verify_all(
        &mut self,
        stop: &dyn Fn() -> bool,
        audit: &mut AuditReport,
        wrong: &mut dyn FnMut(&Error),
    ) -> u64 {
        let (mut bytes, mut alone) = (0, false);
        for file in self.own_files() {
            let made = self.files[file as usize];
            if made.doubtful {
                audit.doubtful += 1;
                continue;
            }
            if stop() {
                break;
            }
            audit.files += 1;
            if alone {
                audit.unreadable += 1;
                continue;
            }
            match self.verify(file, made.bytes) {
                Ok(read) => {
                    audit.whole += 1;
                    bytes += read;
                }
                Err(error) => {
                    match error.kind {
                        ErrorKind::NotFound => audit.missing += 1,
                        ErrorKind::Corruption => audit.wrong += 1,
                        _ => audit.unreadable += 1,
                    }
                    alone = error.status() == Status::Temporary;
                    wrong(&error);
                }
            }
        }
        bytes
    }

    /// Checks that a file has a length of exactly `bytes` bytes and the expected content. Returns
    /// the number of bytes read.
    fn verify(&mut self, file: u64, bytes: u64) -> Result<u64> {
        let transfer = self.setup.plan.stream.transfer_size_bytes as usize;
        self.go_to(self.number, file);
        self.slot.work(Work::Verify);
        if capabilities_of(self.setup.plan.target.name())?.drop_file_cache {
            // The file's cached pages are dropped first, since pages cached on this machine prove
            // nothing about what the target stores.
            self.target.drop_cache(&self.path)?;
        }
        let mut open = self.target.open(&self.path)?;
        let (mut buffer, from) = self.take_buffer();
        let mut offset = 0;
        let outcome = loop {
            self.slot.begin(Step::Read, Some(file), self.clock.now());
            match open.read(&mut buffer[from..from + transfer]) {
                Ok(0) => break Ok(()),
                Ok(got) => {
                    let observed = &buffer[from..from + got];
                    if let Err(error) = self.check((self.number, file), offset, observed) {
                        break Err(error);
                    }
                    offset += got as u64;
                }
                Err(error) => break Err(error),
            }
        };
        self.return_buffer(buffer);
        let closed = outcome.and_then(|()| open.close());
        closed.map_err(|error| self.named(error))?;
        if offset != bytes {
            let reason = format!("has {offset} bytes, {bytes} were written");
            return Err(Error::new(
                ErrorKind::Corruption,
                "verify",
                &self.path,
                reason,
            ));
        }
        Ok(offset)
    }
}
