//! What others see of a run, and the word with which they stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The parts of a run, in order.
#[derive(Clone, Copy)]
pub enum Phase {
    Preparing,
    Running,
    Verifying,
    CleaningUp,
}

const PHASES: [&str; 4] = ["preparing", "running", "verifying", "cleaning up"];

/// Shared between a run and whoever watches it.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    phase: AtomicU64,
}

impl Control {
    /// No further operation starts; what was done is reported and cleaned up.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The share that is done of the present phase, 0 to 1, and the phase in words.
    pub fn progress(&self) -> (f64, &'static str) {
        let phase = self.phase.load(Ordering::Relaxed) as usize;
        let total = self.total.load(Ordering::Relaxed);
        let share = match total {
            0 => 1.0,
            total => self.done() as f64 / total as f64,
        };
        (share.min(1.0), PHASES[phase])
    }

    /// Files or operations done in the present phase.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Go on to a phase with so much to do; a phase is never gone back to.
    pub(crate) fn enter(&self, phase: Phase, total: u64) {
        if self.phase.fetch_max(phase as u64, Ordering::Relaxed) <= phase as u64 {
            self.done.store(0, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
        }
    }
}
