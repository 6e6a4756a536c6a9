//! Fires services: transitions that take two tokens, such as a customer and a server, and pass both
//! on unchanged after one delay. The result equals the result of `fire`, but takes fewer steps.

use super::fire::Firing;
use super::plan::{ByField, Delay, Move, Service, Step, Target};
use super::waiting::{links, position_of};
use super::{ClusterRun, Failed, UNKNOWN};
use crate::cluster::LANES_MAX;
use crate::marking::bucket::NONE;

/// The lanes of a service's cell, as a set of bits.
const BOTH: u8 = 3;

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Fires a service with its first cell, whose number is `index`.
    #[inline(always)]
    pub(super) fn serve(
        &mut self,
        (transition, index): (u32, u32),
        this: &Move,
        service: &Service,
    ) -> Result<(), Failed> {
        let cell = &self.cells.cells[index as usize];
        let permanent = !cell.hashed;
        let (token, other) = (cell.lanes[0].0, cell.lanes[1].0);
        let delay_ns = match &this.delay {
            Delay::Constant(delay_ns) => *delay_ns,
            Delay::Exponential(mean_s) => {
                self.exponential_delay_ns(*mean_s, transition as usize, None)?
            }
            _ => self.service_delay_ns(transition, this, index)?,
        };
        if delay_ns == 0 {
            return self.serve_at_once(transition, this);
        }
        let Some(time_ns) = self.now_ns.checked_add(delay_ns) else {
            return self.fail(move |engine| engine.no_more_time(transition as usize));
        };
        let [first, second] = &service.steps;
        let sent = match service.is_crossed {
            false => [token, other],
            true => [other, token],
        };
        let positions = [
            self.position_after(sent[0], (index, permanent), first)?,
            self.position_after(sent[1], (index, permanent), second)?,
        ];
        let records = &mut self.records;
        let record = &mut records[sent[0] as usize];
        let after_first = record[1] as u32;
        (record[0], record[1]) = (positions[0], links(first.place, sent[1]));
        let record = &mut records[sent[1] as usize];
        let after_second = record[1] as u32;
        (record[0], record[1]) = (positions[1], links(second.place, NONE));
        let next = match service.is_crossed {
            false => [after_first, after_second],
            true => [after_second, after_first],
        };
        let filled = u8::from(next[0] != NONE) | (u8::from(next[1] != NONE) << 1);
        let cell = &mut self.cells.cells[index as usize];
        (cell.lanes[0].0, cell.lanes[1].0) = (next[0], next[1]);
        cell.filled = filled;
        let first_lane = cell.first_lane;
        if filled == 0 && !permanent {
            self.cells.free(index);
        }
        self.next_cell(transition);
        if filled == BOTH {
            let arrivals = next.map(|token| self.arrival_of(token));
            let lead = arrivals[usize::from(first_lane & 1)];
            let latest = arrivals[0].max(arrivals[1]);
            self.enqueue(transition, (lead, index, latest));
        }
        self.events.push(time_ns, sent[0], service.line);
        Ok(())
    }

    /// Removes the first cell of a service. The cell whose customer has waited for longest becomes
    /// the first one.
    #[inline(always)]
    fn next_cell(&mut self, transition: u32) {
        let state = &mut self.states[transition as usize];
        state.drop_first();
        if state.lead == u64::MAX {
            state.clear_turn();
        } else {
            self.turns.add(state.set_turn(state.latest, transition));
        }
    }

    /// Evaluates a delay that is neither constant nor exponential. `cell` is the service's cell.
    #[inline(never)]
    fn service_delay_ns(&mut self, transition: u32, this: &Move, cell: u32) -> Result<u64, Failed> {
        let cell = &self.cells.cells[cell as usize];
        let (token, other) = (cell.lanes[0].0, cell.lanes[1].0);
        let chosen = match cell.first_lane {
            0 => [token, other],
            _ => [other, token],
        };
        self.delay_ns(&this.delay, transition as usize, None, &chosen)
    }

    /// The position that a token will enter after a service. The pair has two values: the cell of
    /// the service, and whether this cell exists until the end of the run.
    #[inline(always)]
    fn position_after(
        &mut self,
        token: u32,
        (cell, permanent): (u32, bool),
        step: &Step,
    ) -> Result<u64, Failed> {
        if let Some(ByField {
            cluster,
            lane,
            field,
        }) = step.by_field
        {
            if let Some(found) = self.permanent_cell(cluster, self.field(token, field)) {
                return Ok(position_of(found, lane));
            }
        }
        match step.target {
            Target::Same(lane) if permanent => Ok(position_of(cell, lane)),
            _ => self.other_position_after(token, step),
        }
    }

    #[inline(never)]
    fn other_position_after(&mut self, token: u32, step: &Step) -> Result<u64, Failed> {
        match step.target {
            Target::Late => Ok(UNKNOWN),
            _ => self.position_early(token, &step.seat, step.place),
        }
    }

    /// Fires a service without delay with its first cell: the tokens arrive at once.
    #[inline(never)]
    fn serve_at_once(&mut self, transition: u32, this: &Move) -> Result<(), Failed> {
        let cell = self.states[transition as usize].cell;
        let mut bound = [NONE; LANES_MAX];
        let permanent = self.take(transition, this, cell, &mut bound);
        let firing = Firing {
            transition: transition as usize,
            cell,
            permanent,
            chosen: &bound[..usize::from(this.arc_count)],
            delay_ns: 0,
        };
        self.put_all(this, firing)
    }
}
