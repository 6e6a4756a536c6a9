//! Fires updates. An update is a transition that takes two tokens of a cell and puts one back with
//! changed fields, such as a counter of replies. The result equals the result of `fire`, but takes
//! fewer steps.

use super::plan::{Move, PlaceSeat, Update};
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
        for (field, value) in &put.written {
            let word = self.value(value, transition as usize, (0, *field), &chosen)?;
            self.records
                .set_word(state, HEADER + usize::from(*field), word);
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
        let lane = match &update.seat {
            PlaceSeat::Plain { lane, .. } => *lane,
            PlaceSeat::Ranged(seat) => self.ranged_lane(state, seat),
            PlaceSeat::Other => NONE,
        };
        match lane == u32::from(update.state_lane) {
            true => self.keep_state(this, update, &done),
            false => self.move_state(update, lane, &done),
        }
        Ok(true)
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
