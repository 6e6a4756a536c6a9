//! Fires one transition of a cluster (a group of transitions that share input places). A firing
//! takes the tokens of the transition's binding from a cell, which stores waiting tokens. Then it
//! makes the tokens of the output arcs.

use super::ahead::fetch;
use super::plan::{Delay, Move, Put, Shape, Target};
use super::waiting::{links, position_of};
use super::{ClusterRun, Failed, HEADER, MANY, UNKNOWN};
use crate::cluster::LANES_MAX;
use crate::engine::event_list::NO_LINE;
use crate::marking::bucket::{reserve, NONE};

/// A linked list of tokens of one firing that become available at the same time.
struct Pending {
    first: u32,
    last: u32,
    due_ns: u64,
    line: u8,
}

/// The values that all output arcs of one firing share: the transition, its cell, its binding, and
/// its delay.
#[derive(Clone, Copy)]
pub(super) struct Firing<'a> {
    pub(super) transition: usize,
    pub(super) cell: u32,
    /// Whether the cell exists until the end of the run.
    pub(super) permanent: bool,
    pub(super) chosen: &'a [u32],
    pub(super) delay_ns: u64,
}

impl<const N: usize> ClusterRun<'_, '_, N> {
    #[inline(always)]
    pub(super) fn fire(&mut self, transition: u32) -> Result<(), Failed> {
        let plan = self.plan;
        let this = &plan.moves[transition as usize];
        self.firings += 1;
        let state = &mut self.states[transition as usize];
        state.fired += 1;
        let cell = state.cell;
        if state.is_short {
            match &this.shape {
                Shape::Service(service) => return self.serve((transition, cell), this, service),
                Shape::Update(update) => {
                    if self.update((transition, cell), this, update)? {
                        return Ok(());
                    }
                }
                Shape::General => {}
            }
        }
        self.fire_any(transition, this)
    }

    /// Fires a transition of any form. It is not inlined, so that the firing loop keeps more of its
    /// variables in registers.
    #[inline(never)]
    fn fire_any(&mut self, transition: u32, this: &Move) -> Result<(), Failed> {
        if this.own == 0 {
            return self.fire_separate(transition as usize, this);
        }
        let state = &self.states[transition as usize];
        let (cell, is_watched) = (state.cell, state.is_watched);
        let mut bound = [NONE; LANES_MAX];
        let permanent = self.take(transition, this, cell, &mut bound);
        let chosen = &bound[..usize::from(this.arc_count)];
        let transition = transition as usize;
        if this.has_locals {
            self.compute_locals(transition, chosen)?;
        }
        if is_watched {
            self.notify_monitors(transition, chosen)?;
        }
        if let Some(formulas) = &this.formulas {
            self.compute_formulas(transition, formulas, chosen);
        }
        let delay_ns = self.delay_ns(&this.delay, transition, None, chosen)?;
        let firing = Firing {
            transition,
            cell,
            permanent,
            chosen,
            delay_ns,
        };
        self.put_all(this, firing)
    }

    /// Makes the tokens of all output arcs of a firing.
    #[inline(always)]
    pub(super) fn put_all(&mut self, this: &Move, firing: Firing<'_>) -> Result<(), Failed> {
        if this.immediate && !self.has_laws {
            return self.put_at_once(this, firing);
        }
        let mut pending = Pending {
            first: NONE,
            last: NONE,
            due_ns: 0,
            line: NO_LINE,
        };
        for (arc, put) in this.puts.iter().enumerate() {
            if put.counted {
                self.put_counted((arc, put), firing, &mut pending)?;
            } else {
                self.put((arc, put), firing, &mut pending)?;
            }
        }
        if pending.first != NONE {
            self.schedule(&pending);
        }
        self.release_all(this, firing.chosen);
        Ok(())
    }

    /// Makes the tokens of a firing without delays (`Move::immediate`). All of them arrive at once.
    #[inline(always)]
    fn put_at_once(&mut self, this: &Move, firing: Firing<'_>) -> Result<(), Failed> {
        for (arc, put) in this.puts.iter().enumerate() {
            let token = self.written((arc, put), firing)?;
            let position = match put.target {
                Target::Same(lane) if firing.permanent => position_of(firing.cell, lane),
                Target::Late => UNKNOWN,
                _ => self.position(token, &put.seat, put.place)?,
            };
            self.arrive(token, position, put.place)?;
        }
        self.release_all(this, firing.chosen);
        Ok(())
    }

    /// Frees the tokens of the binding `chosen` that no output arc forwards.
    #[inline(always)]
    fn release_all(&mut self, this: &Move, chosen: &[u32]) {
        for &arc in &this.released {
            self.release(chosen[usize::from(arc)]);
        }
    }

    /// Returns the token of an output arc, with its fields set. If the arc forwards a token of the
    /// binding, it is this token; otherwise it is a new token.
    #[inline(always)]
    fn written(&mut self, (arc, put): (usize, &Put), firing: Firing<'_>) -> Result<u32, Failed> {
        let Firing {
            transition, chosen, ..
        } = firing;
        let token = match put.forwards {
            Some(from) => chosen[usize::from(from)],
            None => self.make(),
        };
        for (field, value) in &put.written {
            let word = self.value(value, transition, (arc, *field), chosen)?;
            self.records
                .set_word(token, HEADER + usize::from(*field), word);
        }
        Ok(token)
    }

    /// Removes the tokens of a transition's binding from a cell, writes their numbers to `bound`,
    /// and finds which transitions can still fire with the cell. Returns whether the cell exists
    /// until the end of the run.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        transition: u32,
        this: &Move,
        index: u32,
        bound: &mut [u32; LANES_MAX],
    ) -> bool {
        let mut lanes = this.lanes;
        if !this.single {
            self.first_lanes(this, index, &mut lanes);
        }
        let cell = &mut self.cells.cells[index as usize];
        let mut filled = cell.filled;
        for at in 0..usize::from(this.arc_count) {
            let lane = lanes[at];
            let first = &mut cell.lanes[usize::from(lane)].0;
            let token = *first;
            bound[at] = token;
            let links = self.records[token as usize][1];
            let next = links as u32;
            if self.records.len() >= MANY {
                fetch(&self.records, next);
            }
            *first = next;
            filled &= !(u8::from(next == NONE) << lane);
            let place = (links >> 32) as u32;
            if self.counts && self.counted[place as usize] {
                let marking = &mut self.engine.marking;
                marking.now_ns = self.now_ns;
                match self.has_laws {
                    true => marking.count(place, token, -1),
                    false => marking.count_in_area(place, -1),
                }
            }
        }
        let queued = cell.queued;
        cell.filled = filled;
        cell.queued = queued & !(this.led | this.own);
        let able = self.plan.able[cell.table.able as usize + usize::from(filled)];
        let permanent = !cell.hashed;
        if filled == 0 && !permanent {
            self.cells.free(index);
        }
        self.states[transition as usize].drop_first();
        if queued & this.others != 0 {
            self.find_others(index, queued & this.others, (this.led & able, this.cluster));
        }
        self.refresh(transition);
        if able & this.own != 0 {
            self.enqueue_again(index, transition, this.own);
        }
        permanent
    }

    /// Writes to `lanes`, for each input arc of a transition, the lane of the cell from which the
    /// arc takes its token.
    #[inline(never)]
    fn first_lanes(&self, this: &Move, cell: u32, lanes: &mut [u8; LANES_MAX]) {
        let masks = &this.masks[..usize::from(this.arc_count)];
        for (lane, &mask) in lanes.iter_mut().zip(masks) {
            *lane = self.first_of(cell, mask).1;
        }
    }

    /// Updates the other members (transitions) of a cluster after a firing took tokens from a cell.
    /// `others` and `led` are sets of members, as bits. `others` has the members that might have
    /// taken these tokens. `led` has the members that can still fire with the cell, but with
    /// another token for their first input arc.
    #[inline(never)]
    fn find_others(&mut self, cell: u32, mut others: u32, (led, cluster): (u32, u32)) {
        let members = self.plan.layouts[cluster as usize].table.members;
        while others != 0 {
            let local = others.trailing_zeros();
            others &= others - 1;
            let other = self.plan.members[(members + local) as usize];
            if led & (1 << local) != 0 {
                self.enqueue_again(cell, other, 1 << local);
            }
            self.refresh(other);
        }
    }

    /// Makes one token for an output arc. If there is a delay, schedules the arrival of the token;
    /// otherwise the token arrives at once.
    #[inline(always)]
    fn put(
        &mut self,
        (arc, put): (usize, &Put),
        firing: Firing<'_>,
        pending: &mut Pending,
    ) -> Result<(), Failed> {
        let Firing {
            transition, chosen, ..
        } = firing;
        let token = self.written((arc, put), firing)?;
        let mut delay_ns = firing.delay_ns;
        match &put.delay {
            Delay::Constant(more_ns) => delay_ns += more_ns,
            delay => delay_ns += self.delay_ns(delay, transition, Some(arc), chosen)?,
        }
        if self.has_laws {
            self.engine.laws.serve(put.place, delay_ns);
        }
        let position = match put.target {
            Target::Same(lane) if firing.permanent => position_of(firing.cell, lane),
            Target::Late => UNKNOWN,
            _ if delay_ns == 0 => self.position(token, &put.seat, put.place)?,
            _ => self.position_early(token, &put.seat, put.place)?,
        };
        if delay_ns == 0 {
            return self.arrive(token, position, put.place);
        }
        let Some(time_ns) = self.now_ns.checked_add(delay_ns) else {
            return self.fail(move |engine| engine.no_more_time(transition));
        };
        let record = &mut self.records[token as usize];
        record[0] = position;
        record[1] = links(put.place, NONE);
        // Consecutive tokens that become available at the same time share one event.
        if pending.first != NONE && time_ns == pending.due_ns {
            self.link(pending.last, token);
        } else {
            if pending.first != NONE {
                self.schedule(pending);
            }
            (pending.first, pending.due_ns, pending.line) = (token, time_ns, put.line);
        }
        pending.last = token;
        Ok(())
    }

    #[inline(always)]
    fn schedule(&mut self, pending: &Pending) {
        let Pending {
            first,
            due_ns,
            line,
            ..
        } = *pending;
        self.events.push(due_ns, first, line);
    }

    /// Makes the tokens of an output arc whose number of tokens is an expression.
    #[inline(never)]
    fn put_counted(
        &mut self,
        (arc, put): (usize, &Put),
        firing: Firing<'_>,
        pending: &mut Pending,
    ) -> Result<(), Failed> {
        let turn_at = self.engine.net.transitions[firing.transition].locals.len();
        for turn in 0..self.turns(firing.transition, arc, firing.chosen)? {
            self.engine.marking.parameters[turn_at] = turn;
            self.put((arc, put), firing, pending)?;
        }
        Ok(())
    }

    /// Makes a token. Its fields are not set yet. Returns its number.
    #[inline(always)]
    fn make(&mut self) -> u32 {
        self.live += 1;
        if self.free_token == NONE {
            reserve(&mut self.records, 1);
            self.records.push([0; N]);
            return self.records.len() as u32 - 1;
        }
        let token = self.free_token;
        self.free_token = self.records[token as usize][1] as u32;
        if self.records.len() >= MANY {
            fetch(&self.records, self.free_token);
        }
        token
    }

    /// Frees the record of a token.
    #[inline(always)]
    pub(super) fn release(&mut self, token: u32) {
        self.live -= 1;
        self.records[token as usize][1] = links(NONE, self.free_token);
        self.free_token = token;
    }
}
