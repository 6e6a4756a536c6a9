//! Fires the separate transitions of a run over clusters. A separate transition belongs to no
//! cluster, for example because its guard has to be tested on combinations of tokens.
//!
//! The engine finds the bindings of these transitions. When a token arrives in one of their input
//! places, its record stays in the run, and the engine gets a copy with the same number.

use super::cells::NO_TURN;
use super::fire::Firing;
use super::plan::Move;
use super::{ClusterRun, Failed, HEADER};
use crate::marking::bucket::NONE;

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Makes a token available in an input place of separate transitions. `arrival` is the token's
    /// arrival number.
    #[inline(never)]
    pub(super) fn arrive_separate(
        &mut self,
        token: u32,
        place: u32,
        arrival: u64,
    ) -> Result<(), Failed> {
        let marking = &mut self.engine.marking;
        marking.now_ns = self.now_ns;
        let row = &self.records[token as usize][HEADER..];
        match marking.arrive_copy(token, place, row, arrival) {
            true => Ok(()),
            false => self.fail(|engine| engine.guard_failed()),
        }
    }

    /// The enabled transition that fires next, for a net with separate transitions.
    #[inline(never)]
    pub(super) fn next_of_all(&mut self) -> Result<Option<u32>, Failed> {
        if !self.engine.marking.dirty.is_empty() {
            self.update_separate()?;
        }
        while let Some(turn) = self.turns.first() {
            let transition = turn as u32;
            let is_enabled = self.states[transition as usize].has_turn(turn);
            if is_enabled && self.separate_turn < turn {
                break;
            }
            self.turns.pop();
            if is_enabled {
                return Ok(Some(transition));
            }
        }
        Ok((self.separate_turn != NO_TURN).then_some(self.separate_turn as u32))
    }

    /// Determines which separate transition fires next, after tokens arrived or left.
    #[inline(never)]
    fn update_separate(&mut self) -> Result<(), Failed> {
        self.engine.marking.now_ns = self.now_ns;
        if let Err(error) = self.engine.update_enabled() {
            return self.fail(|_| error);
        }
        self.separate_turn = self.engine.first_turn().unwrap_or(NO_TURN);
        Ok(())
    }

    /// Fires a separate transition: takes the tokens of its binding and makes the tokens of its
    /// output arcs.
    #[inline(never)]
    pub(super) fn fire_separate(&mut self, transition: usize, this: &Move) -> Result<(), Failed> {
        let chosen = self.engine.bound(transition).to_vec();
        let marking = &mut self.engine.marking;
        marking.now_ns = self.now_ns;
        chosen.iter().rev().for_each(|&token| marking.take(token));
        if this.has_locals {
            self.compute_locals(transition, &chosen)?;
        }
        if self.states[transition].is_watched {
            self.notify_monitors(transition, &chosen)?;
        }
        if let Some(formulas) = &this.formulas {
            self.compute_formulas(transition, formulas, &chosen);
        }
        let delay_ns = self.delay_ns(&this.delay, transition, None, &chosen)?;
        let firing = Firing {
            transition,
            cell: NONE,
            permanent: false,
            chosen: &chosen,
            delay_ns,
        };
        self.put_all(this, firing)
    }
}
