//! The state that a run shares with the threads that observe or stop it. It has the run's progress,
//! its barrier and its stop flag.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::monotonic_ns;
use crate::execution::watch::Watch;
use crate::record::live::{ClientLatencies, SharedLatencies};
use crate::record::series::Second;

/// The stages of a run, in order.
#[derive(Clone, Copy)]
pub enum Phase {
    Preparing,
    Running,
    Verifying,
    CleaningUp,
}

const PHASES: [&str; 4] = ["preparing", "running", "verifying", "cleaning up"];

/// Interval at which a run that waits at its barrier checks whether to stop.
const BARRIER_POLL: Duration = Duration::from_millis(20);

/// State of the barrier before the start of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Barrier {
    /// There is no barrier: the run starts as soon as it is prepared.
    #[default]
    None,
    /// The run is being prepared.
    Shut,
    /// The run is prepared and waits for its start time.
    Waiting,
    /// The barrier is released: the run starts at the given instant.
    Open(Instant),
}

/// Statistics of the timed part so far: totals since its start, and the longest latency since the
/// last query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Sum of the latencies of successful operations, ns.
    pub latency_ns_sum: u64,
    /// The longest latency of an operation that succeeded since the last query, ns.
    pub latency_ns_max: u64,
    /// Histogram of the latencies of successful operations, in ascending order. Each entry is
    /// (value in the middle of a bucket in ns, number of operations). The middle is within 3.2 % of
    /// every value in the bucket. In an open workload, the values are response times.
    pub latencies: Vec<(u64, u64)>,
}

/// State shared between a run and the threads that observe or stop it.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    published_count: AtomicU64,
    published_errors: AtomicU64,
    published_ns_sum: AtomicU64,
    published_ns_max: AtomicU64,
    published_latencies: SharedLatencies,
    done: AtomicU64,
    total: AtomicU64,
    phase: AtomicU64,
    barrier: Mutex<Barrier>,
    barrier_changed: Condvar,
    /// When the run was stopped, ns of the monotonic clock; 0 until then.
    stopped_at: AtomicU64,
    watch: Watch,
}

impl Control {
    /// Creates the control of a run that is prepared first and then waits at a barrier until
    /// `start_at` is called.
    pub fn with_barrier() -> Self {
        Control {
            barrier: Mutex::new(Barrier::Shut),
            ..Control::default()
        }
    }

    /// Whether the run is prepared and waits at its barrier.
    pub fn waiting(&self) -> bool {
        *self.barrier() == Barrier::Waiting
    }

    /// Sets the start of a run that waits at its barrier. An instant in the past starts the run at
    /// once.
    pub fn start_at(&self, instant: Instant) {
        *self.barrier() = Barrier::Open(instant);
        self.barrier_changed.notify_all();
    }

    /// Sets the start of a run that waits at its barrier. `seconds` is the start as a reading of
    /// CLOCK_MONOTONIC, a clock that all processes of a machine share.
    pub fn start_at_monotonic(&self, seconds: f64) {
        let mut clock = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call fills the structure that it is given; the clock exists on every Linux.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut clock) };
        let now = Instant::now();
        let ahead = seconds - (clock.tv_sec as f64 + clock.tv_nsec as f64 * 1e-9);
        let distance = Duration::try_from_secs_f64(ahead.abs()).unwrap_or_default();
        let at = match ahead > 0.0 {
            true => now.checked_add(distance),
            false => now.checked_sub(distance),
        };
        self.start_at(at.unwrap_or(now));
    }

    /// Waits until the barrier is released and returns the start instant. If `again` is true, the
    /// run waits for the start of a later phase, so the barrier is closed first. Returns the
    /// present time if there is no barrier or the run is stopped.
    pub(crate) fn pass_barrier(&self, again: bool) -> Instant {
        let mut barrier = self.barrier();
        // Each phase of the run waits for a separate start time.
        if *barrier == Barrier::Shut || again && *barrier != Barrier::None {
            *barrier = Barrier::Waiting;
        }
        while *barrier == Barrier::Waiting && !self.stopped() {
            let waited = self.barrier_changed.wait_timeout(barrier, BARRIER_POLL);
            barrier = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match *barrier {
            Barrier::Open(instant) => instant,
            _ => Instant::now(),
        }
    }

    fn barrier(&self) -> MutexGuard<'_, Barrier> {
        self.barrier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the run: no further operation starts, completed operations are reported, and files are
    /// removed.
    pub fn stop(&self) {
        let (now, order) = (monotonic_ns(), Ordering::Relaxed);
        // The first stop counts; a later one changes nothing.
        let _ = self.stopped_at.compare_exchange(0, now, order, order);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Completed fraction of the current stage, 0 to 1, and the stage's name.
    pub fn progress(&self) -> (f64, &'static str) {
        let phase = self.phase.load(Ordering::Relaxed) as usize;
        let total = self.total.load(Ordering::Relaxed);
        let share = match total {
            0 => 1.0,
            total => self.done() as f64 / total as f64,
        };
        (share.min(1.0), PHASES[phase])
    }

    /// Number of files or operations completed in the current stage.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns the statistics of the timed part as last published by the clients, and resets the
    /// longest latency.
    pub fn live_counts(&self) -> LiveCounts {
        LiveCounts {
            count: self.published_count.load(Ordering::Relaxed),
            errors: self.published_errors.load(Ordering::Relaxed),
            latency_ns_sum: self.published_ns_sum.load(Ordering::Relaxed),
            latency_ns_max: self.published_ns_max.swap(0, Ordering::Relaxed),
            latencies: self.published_latencies.buckets(),
        }
    }

    /// Adds the operations that one client completed since its last report. `before` has the
    /// client's totals at that report, `now` its present totals. `latencies` has the latencies
    /// since that report, and is empty afterwards.
    pub(crate) fn publish(&self, before: &Second, now: &Second, latencies: &mut ClientLatencies) {
        latencies.move_to(&self.published_latencies);
        let (count, errors) = (now.count - before.count, now.errors - before.errors);
        let spent = now.latency_ns_sum - before.latency_ns_sum;
        self.count(count + errors);
        self.published_count.fetch_add(count, Ordering::Relaxed);
        self.published_errors.fetch_add(errors, Ordering::Relaxed);
        self.published_ns_sum.fetch_add(spent, Ordering::Relaxed);
        self.published_ns_max
            .fetch_max(now.latency_ns_max, Ordering::Relaxed);
    }

    /// When the run was stopped, ns of the monotonic clock; None if it was not.
    pub(crate) fn stopped_at(&self) -> Option<u64> {
        Some(self.stopped_at.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// Whether the run is in this stage.
    pub(crate) fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Relaxed) == phase as u64
    }

    /// The watch of the run: for each client, the call in progress and the counts so far.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Enters a stage of the run that has `total` items (files or operations). Does nothing if the
    /// run is already at a later stage.
    pub(crate) fn enter(&self, phase: Phase, total: u64) {
        if self.phase.fetch_max(phase as u64, Ordering::Relaxed) <= phase as u64 {
            self.done.store(0, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
        }
    }
}
