//! Puts arriving tokens into cells, and finds the transitions that can fire with the tokens of a
//! cell. A cell has those waiting tokens of a cluster (transitions that share input places) that
//! have the same key. They wait in first-in first-out lists (lanes).

use super::cells::Entry;
use super::plan::{PlaceSeat, RangedSeat};
use super::{ClusterRun, Failed, HEADER, UNKNOWN};
use crate::compiled::{Filter, Key, KeyKind, Lanes, Seat, Test, KEY_FIELDS_MAX};
use crate::expression::evaluate;
use crate::marking::bucket::NONE;
use crate::stream::Stream;

/// The position of a token that no transition takes.
const NOWHERE: u64 = UNKNOWN - 1;

/// The position of a token that separate transitions (members of no cluster) take.
const SEPARATE: u64 = UNKNOWN - 2;

/// Packs the place of a token, and the next token of its linked list, into one word.
#[inline(always)]
pub(super) fn links(place: u32, next: u32) -> u64 {
    (u64::from(place) << 32) | u64::from(next)
}

/// Packs the numbers of a cell and of a lane into one word.
#[inline(always)]
pub(super) fn position_of(cell: u32, lane: u32) -> u64 {
    (u64::from(lane) << 32) | u64::from(cell)
}

impl<const N: usize> ClusterRun<'_, '_, N> {
    /// Makes a token available in its place. `position` is its cell and lane, or UNKNOWN.
    #[inline(always)]
    pub(super) fn arrive(&mut self, token: u32, position: u64, place: u32) -> Result<(), Failed> {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let record = &mut self.records[token as usize];
        record[0] = arrival;
        record[1] = links(place, NONE);
        if self.counts && self.counted[place as usize] {
            self.count(place, token, 1);
        }
        let mut position = position;
        if position >= SEPARATE {
            if position == UNKNOWN {
                position = self.position_on_arrival(token, place)?;
            }
            if position == NOWHERE {
                return Ok(());
            }
            if position == SEPARATE {
                return self.arrive_separate(token, place, arrival);
            }
        }
        self.enter(token, position as u32, (position >> 32) as u32, arrival);
        Ok(())
    }

    /// Appends a token to a lane of a cell. `arrival` is the token's arrival number.
    #[inline(always)]
    pub(super) fn enter(&mut self, token: u32, cell: u32, lane: u32, arrival: u64) {
        let lane = lane as usize;
        let found = &mut self.cells.cells[cell as usize];
        let ends = &mut found.lanes[lane];
        let bit = 1 << lane;
        if found.filled & bit != 0 {
            let last = std::mem::replace(&mut ends.1, token);
            self.link(last, token);
            return;
        }
        *ends = (token, token);
        found.filled |= bit;
        if found.full != 0 {
            if found.filled == found.full {
                let first = found.lanes[usize::from(found.first_lane)].0;
                let transition = found.table.members;
                self.enqueue(transition, (self.arrival_of(first), cell, arrival));
            }
            return;
        }
        let able = self.plan.able[found.table.able as usize + usize::from(found.filled)];
        let mut gained = able & !found.queued;
        found.queued |= gained;
        let members = found.table.members;
        while gained != 0 {
            let local = gained.trailing_zeros();
            gained &= gained - 1;
            let transition = self.plan.members[(members + local) as usize];
            let this = &self.plan.moves[transition as usize];
            let lead = match this.single && usize::from(this.lanes[0]) == lane {
                true => arrival,
                false => self.lead_of(cell, this.masks[0]),
            };
            self.enqueue(transition, (lead, cell, arrival));
        }
    }

    /// Makes `next` the token after `token` in a linked list.
    #[inline(always)]
    pub(super) fn link(&mut self, token: u32, next: u32) {
        let word = &mut self.records[token as usize][1];
        *word = (*word & !u64::from(u32::MAX)) | u64::from(next);
    }

    /// Changes the counted number of tokens of a place by `change`: 1 if the token arrives, -1 if
    /// it leaves.
    #[inline(never)]
    pub(super) fn count(&mut self, place: u32, token: u32, change: i32) {
        let marking = &mut self.engine.marking;
        marking.now_ns = self.now_ns;
        match self.has_laws {
            true => marking.count(place, token, change),
            false => marking.count_in_area(place, change),
        }
    }

    /// Records that a transition can fire with the cell of an entry.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, transition: u32, entry: Entry) {
        let state = &mut self.states[transition as usize];
        if state.add(entry) {
            self.turns.add(state.set_turn(entry.2, transition));
        } else if state.others() > 64 + 4 * self.cells.cells.len() {
            self.remove_stale(transition);
        }
    }

    /// Records that a transition can fire with a cell whose tokens arrived earlier. `own` is the
    /// transition as a member of its cluster: a set with one bit.
    #[inline(never)]
    pub(super) fn enqueue_again(&mut self, cell: u32, transition: u32, own: u32) {
        self.cells.cells[cell as usize].queued |= own;
        let this = &self.plan.moves[transition as usize];
        let latest = self.latest_of(cell, transition);
        let lead = self.lead_of(cell, this.masks[0]);
        self.enqueue(transition, (lead, cell, latest));
    }

    /// Finds the token that arrived first in some lanes (first-in first-out lists of tokens) of
    /// `cell`. The set bits of `mask` select the lanes; at least one of them must have a token.
    /// Returns the numbers of the token and of its lane.
    #[inline(always)]
    pub(super) fn first_of(&self, cell: u32, mask: u32) -> (u32, u8) {
        let found = &self.cells.cells[cell as usize];
        let mut left = u32::from(found.filled) & mask;
        let mut lane = left.trailing_zeros() as u8;
        let mut first = found.lanes[usize::from(lane)].0;
        left &= left.wrapping_sub(1);
        while left != 0 {
            let next = left.trailing_zeros() as u8;
            let other = found.lanes[usize::from(next)].0;
            if self.arrival_of(other) < self.arrival_of(first) {
                (first, lane) = (other, next);
            }
            left &= left - 1;
        }
        (first, lane)
    }

    #[inline(always)]
    pub(super) fn arrival_of(&self, token: u32) -> u64 {
        self.records[token as usize][0]
    }

    #[inline(always)]
    fn lead_of(&self, cell: u32, mask: u32) -> u64 {
        self.arrival_of(self.first_of(cell, mask).0)
    }

    /// The arrival number of the token that arrived last among those that a transition would take
    /// from a cell. For each input arc, the transition takes the token that arrived first.
    #[inline(always)]
    fn latest_of(&self, cell: u32, transition: u32) -> u64 {
        let this = &self.plan.moves[transition as usize];
        let masks = this.masks[..usize::from(this.arc_count)].iter();
        masks.fold(0, |latest, &mask| latest.max(self.lead_of(cell, mask)))
    }

    /// Whether a transition can fire with the tokens of a cell. `own` is the transition as a member
    /// of its cluster: a set with one bit.
    #[inline(always)]
    fn is_able(&self, cell: u32, own: u32) -> bool {
        let found = &self.cells.cells[cell as usize];
        self.plan.able[found.table.able as usize + usize::from(found.filled)] & own != 0
    }

    /// Updates the first cell and the sort key of a transition, after tokens of its first cell were
    /// taken.
    #[inline(always)]
    pub(super) fn refresh(&mut self, transition: u32) {
        let state = &mut self.states[transition as usize];
        if state.lead == u64::MAX {
            state.clear_turn();
            return;
        }
        let this = &self.plan.moves[transition as usize];
        if this.others == 0 {
            // No other transition takes tokens from these cells, so each entry is up to date.
            self.turns.add(state.set_turn(state.latest, transition));
            return;
        }
        self.refresh_first(transition);
    }

    #[inline(never)]
    fn refresh_first(&mut self, transition: u32) {
        let this = &self.plan.moves[transition as usize];
        loop {
            let state = &mut self.states[transition as usize];
            let (lead, cell) = (state.lead, state.cell);
            if lead == u64::MAX {
                state.clear_turn();
                return;
            }
            let is_present = self.is_present(cell, this.masks[0], lead);
            if is_present && self.is_able(cell, this.own) {
                let latest = self.latest_of(cell, transition);
                let state = &mut self.states[transition as usize];
                if !state.has_latest(latest) {
                    self.turns.add(state.set_turn(latest, transition));
                }
                return;
            }
            if is_present {
                self.cells.cells[cell as usize].queued &= !this.own;
            }
            self.states[transition as usize].drop_first();
        }
    }

    /// Whether the token that arrived first in some lanes of a cell has the arrival number `lead`.
    /// `mask` is the set of these lanes, as bits. Returns false if the lanes have no token.
    #[inline(always)]
    fn is_present(&self, cell: u32, mask: u32, lead: u64) -> bool {
        let filled = u32::from(self.cells.cells[cell as usize].filled);
        filled & mask != 0 && self.lead_of(cell, mask) == lead
    }

    /// Removes entries that are out of date from a transition's list of ready cells.
    #[cold]
    fn remove_stale(&mut self, transition: u32) {
        let mask = self.plan.moves[transition as usize].masks[0];
        let mut entries = self.states[transition as usize].take_others();
        entries.sort_unstable();
        entries.dedup();
        entries.retain(|&(lead, cell, _)| self.is_present(cell, mask, lead));
        self.states[transition as usize].set_others(entries);
    }

    /// Returns the cell and the lane that a token will enter when it arrives later. If the cell may
    /// be freed before the token arrives, returns UNKNOWN. The token's fields must already be set.
    /// `seat` says where the tokens of the place wait.
    #[inline(always)]
    pub(super) fn position_early(
        &mut self,
        token: u32,
        seat: &PlaceSeat,
        place: u32,
    ) -> Result<u64, Failed> {
        match self.permanent_position(token, seat) {
            Some(position) => Ok(position),
            None => self.position_unless_freed(token, place),
        }
    }

    /// Returns the cell and the lane that a token will enter when it arrives later; UNKNOWN if the
    /// cell may be freed before the token arrives.
    #[inline(never)]
    fn position_unless_freed(&mut self, token: u32, place: u32) -> Result<u64, Failed> {
        let position = self.position_of_any(token, place)?;
        match position < SEPARATE && self.cells.cells[position as u32 as usize].hashed {
            true => Ok(UNKNOWN),
            false => Ok(position),
        }
    }

    #[inline(never)]
    fn position_on_arrival(&mut self, token: u32, place: u32) -> Result<u64, Failed> {
        let plan = self.plan;
        self.position(token, &plan.seats[place as usize], place)
    }

    /// Returns the cell and lane that a token enters. Creates the cell if there is none. `seat`
    /// says where the tokens of the place wait.
    #[inline(always)]
    pub(super) fn position(
        &mut self,
        token: u32,
        seat: &PlaceSeat,
        place: u32,
    ) -> Result<u64, Failed> {
        match self.permanent_position(token, seat) {
            Some(position) => Ok(position),
            None => self.position_of_any(token, place),
        }
    }

    /// Returns the position (cell and lane in one number) that a token enters. Returns None if the
    /// cell is not in the table `direct`, or if no transition takes the token. Cells in this table
    /// are never freed. `seat`: the cluster, key and lane of the tokens of the token's place.
    #[inline(always)]
    fn permanent_position(&self, token: u32, seat: &PlaceSeat) -> Option<u64> {
        let (cluster, key, lane) = match seat {
            PlaceSeat::Plain { cluster, lane, key } => (*cluster, *key, *lane),
            PlaceSeat::Ranged(seat) => (seat.cluster, seat.key, self.ranged_lane(token, seat)),
            PlaceSeat::Other => return None,
        };
        let word = key.map_or(0, |field| self.field(token, field));
        let cell = self.permanent_cell(cluster, word)?;
        (lane != NONE).then(|| position_of(cell, lane))
    }

    /// The cell of a cluster for the value `word` of its only key field. None if the cell is not in
    /// the table `direct`. The cells of this table are never freed.
    #[inline(always)]
    pub(super) fn permanent_cell(&self, cluster: u32, word: u64) -> Option<u32> {
        let cells = &self.cells.directories[cluster as usize].direct;
        let cell = *cells.get(word as usize)?;
        (cell != NONE).then_some(cell)
    }

    /// The lane that a token enters in a place whose lanes depend on ranges of field values; NONE
    /// if no transition takes the token.
    #[inline(always)]
    pub(super) fn ranged_lane(&self, token: u32, seat: &RangedSeat) -> u32 {
        let mut outcome = 0;
        for (at, range) in seat.ranges.iter().enumerate() {
            let value = self.field(token, range.field) as i64;
            outcome |= usize::from(range.passes(value)) << at;
        }
        seat.lane_of[outcome & 15]
    }

    #[inline(never)]
    fn position_of_any(&mut self, token: u32, place: u32) -> Result<u64, Failed> {
        let net = self.engine.net;
        let Some(seat) = &net.places[place as usize].seat else {
            return match self.plan.is_separate[place as usize] {
                true => Ok(SEPARATE),
                false => Ok(NOWHERE),
            };
        };
        let lane = match &seat.lanes {
            Lanes::One(lane) => *lane,
            Lanes::Tested { tests, lane_of } => self.tested_lane(token, tests, lane_of)?,
        };
        if lane == NONE {
            return Ok(NOWHERE);
        }
        let word = match seat.key_kind {
            KeyKind::None => 0,
            KeyKind::One(field) => self.field(token, field),
            KeyKind::Several => u64::MAX,
        };
        let directory = &self.cells.directories[seat.cluster as usize];
        let cell = match directory.direct.get(word as usize) {
            Some(&cell) if cell != NONE => cell,
            _ => self.cell_of_token(token, seat),
        };
        Ok(position_of(cell, lane))
    }

    #[inline(always)]
    pub(super) fn field(&self, token: u32, field: u16) -> u64 {
        self.records.word(token, HEADER + usize::from(field))
    }

    #[inline(never)]
    fn cell_of_token(&mut self, token: u32, seat: &Seat) -> u32 {
        let mut key: Key = [0; KEY_FIELDS_MAX];
        for (word, &field) in key.iter_mut().zip(&seat.keys) {
            *word = self.field(token, field);
        }
        let single = seat.key_kind != KeyKind::Several;
        let cluster = (seat.cluster, self.plan.layouts[seat.cluster as usize]);
        self.cells.of_key(cluster, key, single)
    }

    /// The lane that a token enters in a place whose lanes depend on tests (conditions on the
    /// token); NONE if no transition takes the token.
    #[inline(always)]
    fn tested_lane(&mut self, token: u32, tests: &[Test], lane_of: &[u32]) -> Result<u32, Failed> {
        let net = self.engine.net;
        let mut outcome = 0;
        for (at, test) in tests.iter().enumerate() {
            if let Some((field, word)) = test.constant {
                if self.field(token, field) != word {
                    continue;
                }
            }
            let view = &net.views[test.view as usize];
            let passed = match &view.filter {
                Filter::Always => true,
                Filter::Within {
                    field,
                    low,
                    high,
                    inside,
                } => {
                    let found = self.field(token, *field) as i64;
                    (*low..=*high).contains(&found) == *inside
                }
                Filter::Code(code) => {
                    let mut unused = Stream::new(0, 0, 0);
                    match evaluate(code, self.binding(&[token]), &mut unused) {
                        Ok(word) => word != 0,
                        Err(fault) => {
                            let transition = view.transition as usize;
                            return self.fail(|engine| engine.fault(transition, ", guard", fault));
                        }
                    }
                }
            };
            outcome |= usize::from(passed) << at;
        }
        Ok(lane_of[outcome])
    }
}
