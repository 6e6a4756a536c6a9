//! Fires updates. An update is a transition that takes two tokens of a cell and puts one back with
//! changed fields, such as a counter of replies. The result equals the result of `fire`, but takes
//! fewer steps.

use super::plan::{Counter, Move, PlaceSeat, Put, Update};
use super::waiting::links;
use super::{ClusterRun, Failed, HEADER};
use crate::marking::bucket::NONE;

/// An update (see `update`) between two steps. The state has its new fields, and the trigger is
/// freed, but the state is not in a lane yet.
struct Updated {
    transition: u32,
    cell: u32,
    state: u32,
    /// The trigger that arrived in the cell after the freed one; NONE if there is none.
    next_trigger: u32,
    arrival: u64,
}

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Fires an update with its first cell, whose number is `index`. Returns false, and changes
    /// nothing, if the cell has several states or if another transition can fire with the cell too.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        (transition, index): (u32, u32),
        this: &Move,
        update: &Update,
    ) -> Result<bool, Failed> {
        let cell = &self.cells.cells[index as usize];
        let (state, last_state) = cell.lanes[usize::from(update.state_lane)];
        let (trigger, last_trigger) = cell.lanes[usize::from(update.trigger_lane)];
        if state != last_state || cell.queued & !this.own != 0 {
            return Ok(false);
        }
        let chosen = match update.is_state_first {
            true => [state, trigger],
            false => [trigger, state],
        };
        let [put] = &this.puts[..] else {
            return Ok(false);
        };
        if !self.count_up(state, update) {
            self.write(put, transition as usize, state, chosen)?;
        }
        let next_trigger = match trigger == last_trigger {
            true => NONE,
            false => self.records[trigger as usize][1] as u32,
        };
        self.release(trigger);
        self.arrivals += 1;
        let done = Updated {
            transition,
            cell: index,
            state,
            next_trigger,
            arrival: self.arrivals,
        };
        let record = &mut self.records[state as usize];
        (record[0], record[1]) = (done.arrival, links(put.place, NONE));
        let value = self.field(state, update.stays.field) as i64;
        match update.stays.low <= value && value <= update.stays.high {
            true => self.keep_state(this, update, &done),
            false => self.place_state(this, update, &done),
        }
        Ok(true)
    }

    /// Changes the state of an update that is a counter. Returns false, and changes nothing, if it
    /// is none, or if the result does not fit in a field.
    #[inline(always)]
    fn count_up(&mut self, state: u32, update: &Update) -> bool {
        let Some(Counter { field, change }) = update.counter else {
            return false;
        };
        let Some(word) = (self.field(state, field) as i64).checked_add(change) else {
            return false;
        };
        let at = HEADER + usize::from(field);
        self.records.set_word(state, at, word as u64);
        true
    }

    /// Writes the changed fields of a state. `chosen` are the tokens of the binding.
    #[inline(never)]
    fn write(
        &mut self,
        put: &Put,
        transition: usize,
        state: u32,
        chosen: [u32; 2],
    ) -> Result<(), Failed> {
        for (field, value) in &put.written {
            let word = self.value(value, transition, (0, *field), &chosen)?;
            let at = HEADER + usize::from(*field);
            self.records.set_word(state, at, word);
        }
        Ok(())
    }

    /// Ends an update: finds the lane of the state, and puts the state there.
    #[inline(never)]
    fn place_state(&mut self, this: &Move, update: &Update, done: &Updated) {
        let lane = match &update.seat {
            PlaceSeat::Plain { lane, .. } => *lane,
            PlaceSeat::Ranged(seat) => self.ranged_lane(done.state, seat),
            PlaceSeat::Other => NONE,
        };
        match lane == u32::from(update.state_lane) {
            true => self.keep_state(this, update, done),
            false => self.move_state(update, lane, done),
        }
    }

    /// Ends an update whose state waits in the same lane as before. The transition can fire again
    /// if there is another trigger. No other transition could fire with the cell before the update,
    /// so none can fire with it now.
    #[inline(always)]
    fn keep_state(&mut self, this: &Move, update: &Update, done: &Updated) {
        let cell = &mut self.cells.cells[done.cell as usize];
        cell.lanes[usize::from(update.trigger_lane)].0 = done.next_trigger;
        if done.next_trigger == NONE {
            cell.filled &= !(1 << update.trigger_lane);
            cell.queued = 0;
            return self.leave(done.transition);
        }
        cell.queued = this.own;
        let lead = match update.is_state_first {
            true => done.arrival,
            false => self.arrival_of(done.next_trigger),
        };
        let state = &mut self.states[done.transition as usize];
        if state.others() > 0 {
            self.leave(done.transition);
            return self.enqueue(done.transition, (lead, done.cell, done.arrival));
        }
        (state.lead, state.latest) = (lead, done.arrival);
        let turn = state.set_turn(done.arrival, done.transition);
        self.turns.add(turn);
    }

    /// Ends an update after which the state waits in another lane, or in none if `lane` is NONE.
    #[inline(never)]
    fn move_state(&mut self, update: &Update, lane: u32, done: &Updated) {
        let cell = &mut self.cells.cells[done.cell as usize];
        cell.filled &= !(1 << update.state_lane);
        cell.lanes[usize::from(update.trigger_lane)].0 = done.next_trigger;
        if done.next_trigger == NONE {
            cell.filled &= !(1 << update.trigger_lane);
        }
        cell.queued = 0;
        self.leave(done.transition);
        if lane != NONE {
            self.enter(done.state, done.cell, lane, done.arrival);
        } else if self.cells.cells[done.cell as usize].filled == 0 {
            self.free_if_hashed(done.cell);
        }
    }

    /// Removes the first cell of a transition from its list.
    #[inline(always)]
    fn leave(&mut self, transition: u32) {
        self.states[transition as usize].drop_first();
        self.refresh(transition);
    }

    /// Frees an empty cell, unless it exists until the end of the run.
    #[cold]
    fn free_if_hashed(&mut self, cell: u32) {
        if self.cells.cells[cell as usize].hashed {
            self.cells.free(cell);
        }
    }
}
