//! The state that all client threads of a run share: the barriers, the common start of each phase,
//! and whether further phases begin.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::client::preparation;
use crate::client::Client;
use crate::execution::caches::MOST_FILES;
use crate::execution::control::Control;
use crate::execution::setup::Setup;
use crate::plan::Plan;
use crate::record::Record;
use crate::report::outcome::{PhaseTiming, Timing};
use crate::report::{CpuReport, Resident};
use crate::target::layer::Layers;
use crate::{Error, Result};

/// State shared by all client threads of a run.
pub struct SharedState<'a> {
    pub setup: &'a Setup<'a>,
    pub control: &'a Control,
    pub(super) layers: &'a Layers,
    /// Locked until all client threads have been spawned. A client begins once it can lock the
    /// mutex and finds the value true. The value is false if a thread could not be spawned; then no
    /// client begins.
    pub(super) go: Mutex<bool>,
    pub(super) prepared: Barrier,
    pub(super) started: Barrier,
    pub(super) finished: Barrier,
    /// Barrier at the end of each phase, after the layers that disturb calls on the target have
    /// been switched off. Checks and removal of files begin after the barrier of the last phase.
    pub(super) settled: Barrier,
    /// Number of failed operations of all clients.
    pub errors: AtomicU64,
    /// True if the preparation failed for a client or the caches could not be emptied; then no
    /// client begins.
    pub(super) is_broken: AtomicBool,
    /// True if a client was stopped before it completed a phase; then no later phase begins.
    pub is_cut: AtomicBool,
    /// The first error of the preparation; None if there was none.
    pub(super) refused: Mutex<Option<Error>>,
    /// The common start of the first phase in ns since 1970, and how much later than it the main
    /// thread woke, in seconds.
    pub(super) zero_unix_ns: OnceLock<u64>,
    pub(super) late_s: OnceLock<f64>,
    /// Files whose absence from the page cache is checked before the next phase, as (path, size in
    /// bytes).
    pub(super) uncached: Mutex<Vec<(String, u64)>>,
    pub(super) phases: Vec<Times>,
    /// The instant at which the preparation of files is aborted. None unless the run is a replay
    /// with a time limit.
    pub(super) deadline: Option<Instant>,
}

/// The measured times of a phase, each set as soon as it is known.
pub(super) struct Times {
    /// The common start of the phase, ns of the monotonic clock; 0 until it is set.
    pub(super) start_ns: AtomicU64,
    /// The stonewall: the time at which the first client completed its operations, in ns after
    /// `start_ns`. Until a client has completed them, it is the largest integer.
    pub(super) wall_ns: AtomicU64,
    /// How much of the clients' files was in the page cache when the phase began. It is set only in
    /// a cold run.
    pub(super) cold: OnceLock<Resident>,
}

impl<'a> SharedState<'a> {
    pub(super) fn new(setup: &'a Setup<'a>, control: &'a Control, layers: &'a Layers) -> Self {
        let parties = setup.plan.client_count() as usize + 1;
        let times = || Times {
            start_ns: AtomicU64::new(0),
            wall_ns: AtomicU64::new(u64::MAX),
            cold: OnceLock::new(),
        };
        SharedState {
            setup,
            control,
            layers,
            go: Mutex::new(false),
            prepared: Barrier::new(parties),
            started: Barrier::new(parties),
            finished: Barrier::new(parties),
            settled: Barrier::new(parties),
            errors: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            refused: Mutex::new(None),
            zero_unix_ns: OnceLock::new(),
            late_s: OnceLock::new(),
            uncached: Mutex::new(Vec::new()),
            phases: setup.phases.iter().map(|_| times()).collect(),
            deadline: preparation::deadline(setup.plan),
        }
    }

    /// The common start of the phase with this number, ns of the monotonic clock.
    pub fn start_ns(&self, phase: usize) -> u64 {
        self.phases[phase].start_ns.load(Ordering::Acquire)
    }

    /// Records that a client completed its operations of a phase at the time `at_ns` of the
    /// monotonic clock. The stonewall is the earliest of these times over all clients.
    pub fn reached_wall(&self, phase: usize, at_ns: u64) {
        let after = at_ns.saturating_sub(self.start_ns(phase));
        self.phases[phase]
            .wall_ns
            .fetch_min(after, Ordering::Relaxed);
    }

    /// Copies a client's counts for the threads that watch the run, unless the last copy is recent.
    pub fn copy(&self, client: &mut Client, record: &mut Record) {
        let clients = self.setup.plan.client_count() as usize;
        let watch = self.control.watch();
        watch.copy(record, client.now, &mut client.copied_ns, clients);
    }

    /// Whether the preparation failed for a client or the caches could not be emptied, so that no
    /// client begins.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Whether no further phase begins, because of a failure or a stop. All threads call this
    /// function between the same two barriers. The result cannot change between these barriers, so
    /// all threads get the same result.
    pub(super) fn is_over(&self) -> bool {
        self.is_broken.load(Ordering::Acquire) || self.is_cut.load(Ordering::Acquire)
    }

    /// Whether the preparation of files has exceeded its time limit.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|at| Instant::now() > at)
    }

    pub(super) fn uncached(&self) -> MutexGuard<'_, Vec<(String, u64)>> {
        let files = self.uncached.lock();
        files.unwrap_or_else(PoisonError::into_inner)
    }

    /// In a cold run, drops a client's files from the page cache. Also registers some of the files,
    /// so that the main thread checks that they are no longer cached.
    pub(super) fn empty_caches(&self, client: &mut Client) -> Result<()> {
        if self.setup.plan.target.wants_cold().is_some() {
            let share = MOST_FILES / self.setup.plan.client_count() as usize;
            let files = client.leave_cache(share.max(1))?;
            self.uncached().extend(files);
        }
        Ok(())
    }

    /// Prevents all clients from starting, and stores the error for the report.
    pub(super) fn refuse(&self, error: Error) {
        self.is_broken.store(true, Ordering::Release);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get_or_insert(error);
    }

    pub(super) fn timing(&self, cpu: CpuReport, records: &[Record]) -> Timing {
        let plan = self.setup.plan;
        let errors = self.errors.load(Ordering::Relaxed);
        let begun = self
            .phases
            .iter()
            .filter(|phase| phase.start_ns.load(Ordering::Relaxed) > 0);
        let timing = |phase: &Times| PhaseTiming {
            start_ns: phase.start_ns.load(Ordering::Relaxed),
            wall_ns: phase.wall_ns.load(Ordering::Relaxed),
            cold: phase.cold.get().copied(),
        };
        Timing {
            zero_unix_ns: self.zero_unix_ns.get().copied().unwrap_or(0),
            late_s: self.late_s.get().copied().unwrap_or(0.0),
            cpu,
            phases: begun.map(timing).collect(),
            complete: !self.control.stopped()
                && errors <= plan.max_errors
                && !self.is_over()
                && all_done(plan, records),
        }
    }
}

fn all_done(plan: &Plan, records: &[Record]) -> bool {
    records
        .iter()
        .all(|record| record.count() + record.failures == plan.stream.operations_of(record.client))
}
