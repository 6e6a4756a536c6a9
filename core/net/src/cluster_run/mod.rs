//! Fires nets whose waiting tokens are stored in cells. A cell stores those tokens of one cluster
//! of transitions that have the same key (see `cells`). Examples are queues and servers joined by a
//! key, keyed counters, and places that one transition reads. Transitions that belong to no cluster
//! find their tokens in the buckets of the engine (see `separate`).
//!
//! A run takes over the tokens of an engine, fires until there is a reason to pause, and gives the
//! tokens back. Its firings and random draws equal those of the engine (see `engine`), but it finds
//! the next firing in fewer steps. A token is one record: its position and its field values are
//! adjacent in memory.

mod ahead;
mod cells;
mod fire;
mod formulas;
mod inscribe;
mod plan;
mod planning;
mod separate;
mod service;
mod table;
mod transfer;
mod update;
mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::ending::{Reason, STOP_INTERVAL};
use crate::engine::event_list::EventList;
use crate::engine::Engine;
use crate::error::{NetError, Result};
use crate::marking::bucket::NONE;
use cells::{Cells, State, Turn, Turns, NO_TURN};
pub(crate) use plan::ClusterPlan;
use table::Table;

/// Number of words of a token's record before its field values.
const HEADER: usize = 2;

/// The number that stands for the position of a token in transit whose cell is not known yet.
const UNKNOWN: u64 = u64::MAX;

/// Number of tokens from which on records are fetched ahead. The records of so few tokens about
/// fill the second-level cache of a processor.
const MANY: usize = 16_384;

/// The conditions under which a run pauses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The run pauses before the first event after this time.
    pub(crate) pause_ns: u64,
    pub(crate) max_firings: u64,
    pub(crate) max_instant_firings: u64,
    pub(crate) max_tokens: usize,
    /// A monitor's index and the number of its observations at which the replication ends.
    pub(crate) until: Option<(usize, u64)>,
    /// True if nothing fires after the replication has ended, or after nothing can fire any more.
    /// Only the places of the tokens are then given back to the engine. This saves time in nets
    /// with many tokens. All is given back if Little's law and the utilisation law are checked.
    pub(crate) is_final: bool,
}

/// Why a run paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nothing can fire up to the time at which the run pauses.
    Idle,
    /// The replication ends.
    Ended(Reason),
    /// There were more firings at one instant than allowed.
    Livelock,
    /// There are more tokens than allowed.
    Growth,
}

/// The sign that a firing failed. The error itself is in `ClusterRun::error`. Functions of the
/// firing loop therefore return only one word.
#[derive(Clone, Copy, Debug)]
struct Failed;

/// The state of a run over clusters. `N` is the number of words of a token's record. Monitors, and
/// the numbers of tokens in places, stay in the engine.
struct ClusterRun<'e, 'n, const N: usize> {
    engine: &'e mut Engine<'n>,
    plan: &'n ClusterPlan,
    now_ns: u64,
    firings: u64,
    /// The records of all tokens. Word 0 is the arrival number of a waiting token, or the position
    /// that a token in transit will enter. Word 1 has the next token of a linked list (low half)
    /// and the place (high half); a freed token has the place NONE. The field values follow.
    records: Table<[u64; N]>,
    free_token: u32,
    live: usize,
    arrivals: u64,
    cells: Cells,
    states: Table<State>,
    turns: Turns,
    events: EventList,
    /// For each place, whether the number of its tokens is counted.
    counted: Vec<bool>,
    /// Whether the tokens of at least one place are counted.
    counts: bool,
    /// The sort key of the next separate transition to fire (a separate transition belongs to no
    /// cluster). `NO_TURN` if none is enabled.
    separate_turn: Turn,
    /// Whether a monitor may have reached the number of observations at which the replication ends.
    is_observed: bool,
    /// Whether sums are collected from which Little's law and the utilisation law are checked.
    has_laws: bool,
    /// The values of the formulas of all transitions (see `ClusterPlan::values`), each of the last
    /// firing.
    values: Vec<u64>,
    /// Whether the values of the formulas of the transition that fires could be computed.
    is_computed: bool,
    error: Option<Box<NetError>>,
}

/// Fires the net of an engine, from its present state, until there is a reason to pause. `stop` is
/// the flag that stops a replication.
pub(crate) fn run<'n>(
    engine: &mut Engine<'n>,
    plan: &'n ClusterPlan,
    limits: Limits,
    stop: &AtomicBool,
) -> Result<Pause> {
    // The length of a record is a compile-time constant, so that no multiplication is needed to
    // find the record of a token.
    match engine.net.stride + HEADER {
        0..=4 => run_with::<4>(engine, plan, limits, stop),
        5 => run_with::<5>(engine, plan, limits, stop),
        6..=8 => run_with::<8>(engine, plan, limits, stop),
        9..=16 => run_with::<16>(engine, plan, limits, stop),
        _ => run_with::<66>(engine, plan, limits, stop),
    }
}

fn run_with<'n, const N: usize>(
    engine: &mut Engine<'n>,
    plan: &'n ClusterPlan,
    limits: Limits,
    stop: &AtomicBool,
) -> Result<Pause> {
    let mut run = ClusterRun::<'_, '_, N>::take_over(engine, plan);
    let pause = match run.error {
        None => run.fire_until(limits, stop),
        Some(_) => Err(Failed),
    };
    if let Some(error) = run.error.take() {
        return Err(*error);
    }
    let pause = pause.unwrap_or(Pause::Idle);
    let is_over = match pause {
        Pause::Ended(_) => true,
        Pause::Idle => run.events.next_time_ns().is_none(),
        Pause::Livelock | Pause::Growth => false,
    };
    // The lists of waiting tokens are needed to check Little's law, since the check counts how long
    // these tokens have stayed.
    match limits.is_final && !run.has_laws && is_over {
        true => run.give_back_places()?,
        false => run.give_back()?,
    }
    Ok(pause)
}

impl<const N: usize> ClusterRun<'_, '_, N> {
    fn fire_until(
        &mut self,
        limits: Limits,
        stop: &AtomicBool,
    ) -> std::result::Result<Pause, Failed> {
        self.is_observed = limits.until.is_some();
        // The number of firings at the start of the present instant.
        let mut instant_start = self.firings;
        // Stays as it is at the next instant: it may then be too small, never too large.
        let mut check_at = self.next_check(limits, instant_start);
        loop {
            while let Some(transition) = self.next_transition()? {
                self.fire(transition)?;
                let is_early = self.firings < check_at && self.live <= limits.max_tokens;
                if is_early && !self.is_observed {
                    continue;
                }
                if let Some(pause) = self.pause_now(limits, instant_start, stop) {
                    return Ok(pause);
                }
                self.is_observed = false;
                check_at = self.next_check(limits, instant_start);
            }
            match self.events.next_time_ns() {
                Some(time_ns) if time_ns <= limits.pause_ns => self.advance(time_ns)?,
                _ => return Ok(Pause::Idle),
            }
            instant_start = self.firings;
        }
    }

    /// The number of firings at which the run next compares its state with the limits, if no
    /// monitor observes a firing before. `instant_start` is the number of firings at the start of
    /// the present instant.
    #[inline(always)]
    fn next_check(&self, limits: Limits, instant_start: u64) -> u64 {
        let instant_end = instant_start.saturating_add(limits.max_instant_firings);
        let next_stop = (self.firings | (STOP_INTERVAL - 1)) + 1;
        next_stop
            .min(limits.max_firings)
            .min(instant_end.saturating_add(1))
    }

    /// The reason for which the run has to pause after a firing, if there is one.
    #[inline(never)]
    fn pause_now(&self, limits: Limits, instant_start: u64, stop: &AtomicBool) -> Option<Pause> {
        let instant_end = instant_start.saturating_add(limits.max_instant_firings);
        let enough = |(monitor, count): (usize, u64)| self.engine.monitors[monitor].count >= count;
        if self.firings > instant_end {
            Some(Pause::Livelock)
        } else if self.live > limits.max_tokens {
            Some(Pause::Growth)
        } else if limits.until.is_some_and(enough) {
            Some(Pause::Ended(Reason::Until))
        } else if self.firings >= limits.max_firings {
            Some(Pause::Ended(Reason::MaxFirings))
        } else if self.firings.is_multiple_of(STOP_INTERVAL) && stop.load(Ordering::Relaxed) {
            Some(Pause::Ended(Reason::Stopped))
        } else {
            None
        }
    }

    /// Moves simulated time to `time_ns`. All tokens that become available at that time arrive.
    #[inline(never)]
    fn advance(&mut self, time_ns: u64) -> std::result::Result<(), Failed> {
        self.now_ns = time_ns;
        while self.events.has_at(time_ns) {
            let Some(event) = self.events.pop() else {
                break;
            };
            if !self.events.near().is_empty() {
                self.fetch_ahead();
            }
            let mut token = event.first_token();
            while token != NONE {
                let record = &self.records[token as usize];
                let (position, links) = (record[0], record[1]);
                self.arrive(token, position, (links >> 32) as u32)?;
                token = links as u32;
            }
        }
        Ok(())
    }

    /// The enabled transition that fires next, or None.
    #[inline(always)]
    fn next_transition(&mut self) -> std::result::Result<Option<u32>, Failed> {
        if self.plan.has_separate
            && (self.separate_turn != NO_TURN || !self.engine.marking.dirty.is_empty())
        {
            return self.next_of_all();
        }
        while let Some(turn) = self.turns.pop() {
            let transition = turn as u32;
            if self.states[transition as usize].has_turn(turn) {
                return Ok(Some(transition));
            }
        }
        Ok(None)
    }
}
