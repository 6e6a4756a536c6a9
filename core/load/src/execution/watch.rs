//! The state of a run in progress, for threads that watch the run. It has the call that each thread
//! has in progress, the figures of the clients, and the times of the run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::clock::{cpu_time, monotonic_ns};
use crate::record::Record;
use crate::report::{CpuReport, GeneratorReport};
use crate::step::Step;

/// Largest number of clients whose figures are copied while they run. A copy takes up to 1 MB.
const MOST_COPIED: usize = 64;
/// Interval between two copies of one client's counts in ns, for runs with at most `AT_ONCE`
/// clients. With more clients, the interval is longer, so that the processor time for copying does
/// not grow with the number of clients.
const COPY_EVERY_NS: u64 = 250_000_000;
const AT_ONCE: usize = 8;

/// What a thread of a run does outside the steps of operations, such as checking or removing files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Begin,
    Connect,
    Prepare,
    DropCaches,
    Verify,
    CleanUp,
    Finish,
}

impl Work {
    const ALL: [(Work, &'static str); 7] = [
        (Work::Begin, "making the run directory"),
        (Work::Connect, "connecting"),
        (Work::Prepare, "preparing files"),
        (Work::DropCaches, "emptying caches"),
        (Work::Verify, "checking files"),
        (Work::CleanUp, "removing files"),
        (Work::Finish, "removing the run directory"),
    ];
}

/// The call that one thread of a run has in progress. This thread updates the call, and other
/// threads read it.
#[derive(Debug, Default)]
pub struct CallSlot {
    /// When the call began, ns of the monotonic clock; 0 while there is no call.
    since_ns: AtomicU64,
    /// The call as one number. Its low 8 bits are the number of the step, or `Step::ALL.len()` plus
    /// the number of the work (`Work`). The other bits are the number of the file plus 1. They are
    /// 0 if the call has no file of a known number.
    what: AtomicU64,
}

impl CallSlot {
    /// Notes that a step of an operation begins at `now_ns` of the monotonic clock.
    #[inline]
    pub fn begin(&self, step: Step, file: Option<u64>, now_ns: u64) {
        let file = file.map_or(0, |file| file + 1);
        self.what.store(step as u64 | file << 8, Ordering::Relaxed);
        self.since_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Notes that work other than a step of an operation begins now.
    pub fn work(&self, work: Work) {
        let code = Step::ALL.len() as u64 + work as u64;
        self.what.store(code, Ordering::Relaxed);
        self.since_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Notes that no call is in progress.
    #[inline]
    pub fn idle(&self) {
        self.since_ns.store(0, Ordering::Relaxed);
    }

    /// The start of the call in progress, ns of the monotonic clock; None if there is none.
    pub(super) fn since(&self) -> Option<u64> {
        Some(self.since_ns.load(Ordering::Relaxed)).filter(|since| *since > 0)
    }

    /// The call in progress as text, such as "read of file 7".
    pub(super) fn text(&self) -> String {
        let what = self.what.load(Ordering::Relaxed);
        let code = (what & 0xff) as usize;
        let name = match Step::ALL.get(code) {
            Some(step) => step.name(),
            None => Work::ALL[(code - Step::ALL.len()).min(Work::ALL.len() - 1)].1,
        };
        match what >> 8 {
            0 => name.to_string(),
            file => format!("{name} of file {}", file - 1),
        }
    }
}

/// The state of a run in progress: its calls, the figures of its clients, and its times.
#[derive(Default)]
pub struct Watch {
    pub(crate) runner: CallSlot,
    pub(super) clients: OnceLock<Vec<(u32, Arc<CallSlot>)>>,
    /// The records that clients have handed over with `lend`, by client number. A client hands its
    /// record over while it waits for other clients, and while it calls the target outside the
    /// timed part.
    lent: Mutex<BTreeMap<u32, Record>>,
    /// Copies of clients' records without spans, by client number, made during the timed part.
    copies: Mutex<BTreeMap<u32, Record>>,
    pub(super) begun: Mutex<Begun>,
    pub(crate) generator: OnceLock<GeneratorReport>,
}

#[derive(Default)]
pub(super) struct Begun {
    pub(super) zeros: Vec<u64>,
    pub(super) zero_unix_ns: u64,
    pub(super) late_s: f64,
    pub(super) cpu: CpuReport,
}

impl Watch {
    /// Registers the call slots of the clients, each with the number of the client.
    pub(crate) fn clients(&self, slots: Vec<(u32, Arc<CallSlot>)>) {
        // A control serves one run; the calls of a second run would not be watched.
        let _ = self.clients.set(slots);
    }

    /// Stores the times of the next phase: its common start in ns of the monotonic clock, the start
    /// of the run in ns of Unix time, and how late the phase started, in s.
    pub(crate) fn phase_begins(&self, zero: u64, zero_unix_ns: u64, late_s: f64) {
        let mut begun = locked(&self.begun);
        if begun.zeros.is_empty() {
            (begun.zero_unix_ns, begun.late_s) = (zero_unix_ns, late_s);
            begun.cpu = cpu_time();
        }
        begun.zeros.push(zero);
    }

    /// Keeps the record of a client while the client waits for other clients, or calls the target
    /// outside the timed part. `give_back` returns the record.
    pub(crate) fn lend(&self, record: Record) {
        locked(&self.lent).insert(record.client, record);
    }

    /// Returns to a client the record that it has lent. Returns None if the run was given up and
    /// the record was already reported.
    pub(crate) fn give_back(&self, client: u32) -> Option<Record> {
        locked(&self.lent).remove(&client)
    }

    /// Copies a client's figures if the last copy is too old. `now` is the present time and
    /// `copied_ns` the time of the last copy, both in ns of the monotonic clock. Copies nothing if
    /// the run has more than `MOST_COPIED` clients.
    pub(crate) fn copy(&self, record: &mut Record, now: u64, copied_ns: &mut u64, clients: usize) {
        let every = COPY_EVERY_NS * clients.div_ceil(AT_ONCE) as u64;
        if clients <= MOST_COPIED && now.saturating_sub(*copied_ns) >= every {
            *copied_ns = now;
            self.copy_now(record);
        }
    }

    /// Copies a client's figures, however recent the last copy is.
    pub(crate) fn copy_now(&self, record: &mut Record) {
        locked(&self.copies).insert(record.client, record.figures());
    }

    /// Takes out the known records of clients, ordered by client. If a client has lent its record,
    /// the lent record is taken. Otherwise the copy of its record is taken.
    pub(super) fn known(&self) -> Vec<Record> {
        let mut found = std::mem::take(&mut *locked(&self.copies));
        found.extend(std::mem::take(&mut *locked(&self.lent)));
        found.into_values().collect()
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_step_and_file() {
        let slot = CallSlot::default();
        assert_eq!(slot.since(), None);
        slot.begin(Step::Read, Some(7), 5);
        assert_eq!(
            (slot.since(), slot.text()),
            (Some(5), "read of file 7".to_string())
        );
        slot.begin(Step::List, None, 6);
        assert_eq!(slot.text(), "list");
        slot.work(Work::Finish);
        assert_eq!(slot.text(), "removing the run directory");
        slot.idle();
        assert_eq!(slot.since(), None);
    }
}
