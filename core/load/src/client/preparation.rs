//! Prepares the files of a replayed trace. Only the bytes that the trace reads or overwrites are
//! written; the rest of each file is a hole. The preparation fails if it takes longer than the
//! run's time limit, or if the files do not fit into the free space of the target.

use std::time::Instant;

use dfslab_workload::{prepared_extents, prepared_files, Prepare};

use crate::client::Client;
use crate::plan::Plan;
use crate::step::Step;
use crate::target::Factory;
use crate::{Error, ErrorKind, Result};

/// The number of bytes that the prepared files of this shard's clients occupy on the target.
fn bytes_to_prepare(plan: &Plan, factory: &dyn Factory) -> u128 {
    if plan.stream.prepare == Prepare::Empty && plan.stream.given.is_empty() {
        return 0;
    }
    let sparse = is_sparse(plan) && factory.makes_holes();
    let of_client = |client| -> u128 {
        if sparse {
            let extents = prepared_extents(&plan.stream, client);
            let all = extents.values().flatten();
            return all.map(|(from, to)| u128::from(to - from)).sum();
        }
        let files = prepared_files(&plan.stream, client);
        files.iter().map(|&(_, bytes)| u128::from(bytes)).sum()
    };
    plan.clients().map(of_client).sum()
}

/// Returns an error if the prepared files of this shard do not fit into the free space of the
/// target. Targets that do not report their free space are not checked.
pub fn check_room(plan: &Plan, factory: &dyn Factory) -> Result<()> {
    let Some(free) = factory.free_bytes() else {
        return Ok(());
    };
    let needed = bytes_to_prepare(plan, factory);
    if needed <= u128::from(free) {
        return Ok(());
    }
    let reason = format!("the files to prepare take {needed} bytes; {free} are free there");
    Err(Error::new(ErrorKind::NoSpace, "prepare", "files", reason))
}

/// The instant at which the preparation of a replay is aborted. None if the plan is no replay or
/// has no time limit. The trace decides how much is prepared, so the run's time limit also covers
/// the preparation.
pub fn deadline(plan: &Plan) -> Option<Instant> {
    if plan.stream.given.is_empty() {
        return None;
    }
    let limit_s = plan.time_limit_s?;
    let limit = std::time::Duration::try_from_secs_f64(limit_s).ok()?;
    Instant::now().checked_add(limit)
}

/// Returns the error for a preparation that exceeded the run's time limit.
pub fn too_slow(plan: &Plan) -> Error {
    let limit_s = plan.time_limit_s.unwrap_or(0.0);
    let reason = format!("the trace's files were not prepared within time_limit ({limit_s} s)");
    Error::new(ErrorKind::Timeout, "prepare", "files", reason)
}

/// Whether prepared files may have holes. This is the case only in a replay of a trace whose plan
/// does not check all content.
fn is_sparse(plan: &Plan) -> bool {
    !plan.stream.given.is_empty() && !plan.verify.checks_all()
}

impl Client<'_> {
    /// Whether this client's files are prepared with holes.
    pub(crate) fn makes_sparse_files(&self) -> bool {
        let can = self.setup.plan.target.capabilities();
        is_sparse(self.setup.plan) && can.truncate && can.pwrite
    }

    /// Creates the files of a replay and writes only the byte ranges that the replay's operations
    /// read or overwrite.
    pub(crate) fn prepare_sparse(
        &mut self,
        stop: &dyn Fn() -> bool,
        prepared: &dyn Fn(),
    ) -> Result<()> {
        let stream = &self.setup.plan.stream;
        let extents = prepared_extents(stream, self.number);
        for (file, bytes) in prepared_files(stream, self.number) {
            if stop() {
                return Ok(());
            }
            self.done.clear();
            let touched = extents.get(&file).map_or(&[][..], Vec::as_slice);
            let written = self.write_sparse(file, bytes, touched, stop);
            written.map_err(|error| self.named(error))?;
            prepared();
        }
        Ok(())
    }

    fn write_sparse(
        &mut self,
        file: u64,
        bytes: u64,
        extents: &[(u64, u64)],
        stop: &dyn Fn() -> bool,
    ) -> Result<()> {
        self.write_file(file, 0, false)?;
        if bytes == 0 {
            return Ok(());
        }
        self.timed(Step::Truncate, 0, |target, path| {
            target.truncate(path, bytes)
        })?;
        if !extents.is_empty() {
            let transfer = self.setup.plan.stream.transfer_size_bytes;
            let mut open = self.target.open_write(&self.path)?;
            for &(from, to) in extents {
                let mut offset = from;
                while offset < to && !stop() {
                    let length = transfer.min(to - offset);
                    let content = &self.setup.content;
                    let chunk = content.slice(self.number, (file, 0), offset, length as usize);
                    self.slot.begin(Step::Write, Some(file), self.clock.now());
                    open.write_at(&chunk, offset)?;
                    offset += length;
                }
            }
            open.close()?;
        }
        let made = self.made(file).unwrap_or_default();
        self.set_made(file, crate::client::Made { bytes, ..made });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    /// A target with this many free bytes, on which holes occupy no space.
    struct Room(u64);

    impl Factory for Room {
        fn begin(&self, _shared: bool) -> Result<()> {
            Ok(())
        }
        fn free_bytes(&self) -> Option<u64> {
            Some(self.0)
        }
        fn makes_holes(&self) -> bool {
            true
        }
        fn connect(&self) -> Result<Box<dyn Target>> {
            unreachable!("nothing is made here")
        }
        fn finish(&self, _shared: bool) -> Result<()> {
            Ok(())
        }
    }

    fn plan(verify: &str) -> Plan {
        let text = format!(
            r#"{{"stream": {{"seed": 1, "clients": 1, "file_size": {{"fixed": 0}},
            "transfer_size_bytes": 4096,
            "given": [{{"operation": "open"}},
            {{"operation": "pread", "size_bytes": 4096, "offset_bytes": 8000000000000}}]}},
            "target": {{"kind": "null"}}, "run_directory": "run",
            "verify": "{verify}", "time_limit_s": 10}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_hole_takes_no_room_unless_its_content_is_checked() {
        assert!(check_room(&plan("none"), &Room(4096)).is_ok());
        assert!(check_room(&plan("sample"), &Room(4096)).is_ok());
        assert_eq!(
            check_room(&plan("none"), &Room(4095)).unwrap_err().kind,
            ErrorKind::NoSpace
        );
        assert!(check_room(&plan("inline"), &Room(1 << 40)).is_err());
    }

    #[test]
    fn a_replay_has_a_deadline_and_no_limit_is_none() {
        let mut plan = plan("none");
        assert!(deadline(&plan).is_some());
        plan.time_limit_s = None;
        assert!(deadline(&plan).is_none());
    }
}
