//! Fires updates: transitions that take two tokens of a cell and put one of them back with changed
//! fields, such as a counter of replies. The result is that of `fire`, with fewer steps.

use super::plan::{Move, PlaceSeat};
use super::shape::Update;
use super::waiting::links;
use super::{ClusterRun, Failed, HEADER};
use crate::bucket::NONE;

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Fires an update with its first cell. Returns false, and changes nothing, if the cell has
    /// several states or if another transition can fire with the cell too.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        transition: u32,
        this: &Move,
        update: &Update,
    ) -> Result<bool, Failed> {
        let index = self.states[transition as usize].cell;
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
            self.records[state as usize][HEADER + usize::from(*field)] = word;
        }
        let next = self.records[trigger as usize][1] as u32;
        self.release(trigger);
        let cell = &mut self.cells.cells[index as usize];
        cell.filled &= !(1 << update.state_lane);
        cell.lanes[usize::from(update.trigger_lane)].0 = next;
        if trigger == last_trigger {
            cell.filled &= !(1 << update.trigger_lane);
        }
        cell.queued = 0;
        self.states[transition as usize].drop_first();
        self.refresh(transition);
        self.arrivals += 1;
        let arrival = self.arrivals;
        let record = &mut self.records[state as usize];
        (record[0], record[1]) = (arrival, links(put.place, NONE));
        let lane = match &self.plan.seats[put.place as usize] {
            PlaceSeat::Plain { lane, .. } => *lane,
            PlaceSeat::Ranged(seat) => self.ranged_lane(state, seat),
            PlaceSeat::Other => NONE,
        };
        if lane != NONE {
            self.enter(state, index, lane, arrival);
        } else if self.cells.cells[index as usize].filled == 0 {
            self.free_if_hashed(index);
        }
        Ok(true)
    }

    /// Frees an empty cell, unless it exists until the end of the run.
    #[cold]
    fn free_if_hashed(&mut self, cell: u32) {
        if self.cells.cells[cell as usize].hashed {
            self.cells.free(cell);
        }
    }
}
