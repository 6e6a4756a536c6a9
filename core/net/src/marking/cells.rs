//! Stores the waiting tokens of clusters (groups of transitions that share input places) in cells,
//! one for each key. Finds the bindings of the transitions of clusters.
//!
//! A cell stores its tokens in lanes (first-in first-out lists). Whether a transition can fire with
//! a cell depends only on the set of lanes that have tokens. This set is stored as bits. If a
//! transition can fire with several cells, it takes the cell whose token for the first input arc
//! arrived first.

use std::cmp::Reverse;

use super::cell::Lane;
use super::Marking;
use crate::cluster::Cluster;
use crate::compiled::{Key, KeyKind, Lanes, Seat, Test, KEY_FIELDS_MAX};
use crate::marking::bucket::{Token, NONE};

impl Marking<'_> {
    /// Adds a token to a lane of the cell that belongs to the token's key. `seat` has the cluster,
    /// the fields of the key and the lane. Returns false if the evaluation of a guard fails.
    #[inline(always)]
    pub(super) fn sit(&mut self, token: u32, seat: &Seat) -> bool {
        let lane = match &seat.lanes {
            Lanes::One(lane) => *lane,
            Lanes::Tested { tests, lane_of } => match self.tested_lane(token, tests, lane_of) {
                Some(NONE) => return true,
                Some(lane) => lane,
                None => return false,
            },
        };
        let word = match seat.key_kind {
            KeyKind::None => 0,
            KeyKind::One(field) => self.rows[token as usize * self.net.stride + field as usize],
            KeyKind::Several => u64::MAX,
        };
        let directory = &self.cells.directories[seat.cluster as usize];
        let cell = match directory.direct.get(word as usize) {
            Some(&cell) if cell != NONE => cell,
            _ => self.cell_of_token(token, seat),
        };
        self.nodes.tokens[token as usize].enter_lane(cell, lane);
        let found = &mut self.cells.cells[cell as usize];
        let place = &mut found.lanes[lane as usize];
        if found.filled & (1 << lane) != 0 {
            self.nodes.tokens[place.tail as usize].next = token;
            place.tail = token;
            return true;
        }
        *place = Lane {
            head: token,
            tail: token,
        };
        found.filled |= 1 << lane;
        let cluster = &self.net.clusters[seat.cluster as usize];
        self.offer(cell, cluster, cluster.takers[lane as usize]);
        true
    }

    /// Returns the lane of a token in a place whose lanes depend on tests (guards). The outcomes of
    /// the tests for the token select the lane. Returns `Some(NONE)` if no transition can take the
    /// token, and None if the evaluation of a guard fails.
    #[inline(always)]
    fn tested_lane(&mut self, token: u32, tests: &[Test], lane_of: &[u32]) -> Option<u32> {
        let mut outcome = 0;
        for (at, test) in tests.iter().enumerate() {
            if let Some((field, word)) = test.constant {
                if self.rows[token as usize * self.net.stride + field as usize] != word {
                    continue;
                }
            }
            let view = &self.net.views[test.view as usize];
            match self.passes(token, &view.filter) {
                Ok(passed) => outcome |= usize::from(passed) << at,
                Err(fault) => {
                    self.faulted(view.transition, fault);
                    return None;
                }
            }
        }
        Some(lane_of[outcome])
    }

    #[inline(never)]
    fn cell_of_token(&mut self, token: u32, seat: &Seat) -> u32 {
        let start = token as usize * self.net.stride;
        let mut key: Key = [0; KEY_FIELDS_MAX];
        for (word, &field) in key.iter_mut().zip(&seat.keys) {
            *word = self.rows[start + field as usize];
        }
        let single = seat.key_kind != KeyKind::Several;
        self.cells.cell_of_key(seat.cluster, key, single)
    }

    /// Records which of the members `candidates` (a set of bits) can fire with the tokens of a
    /// cell.
    #[inline(always)]
    fn offer(&mut self, cell: u32, cluster: &Cluster, candidates: u32) {
        let mut left = candidates;
        while left != 0 {
            let local = left.trailing_zeros();
            left &= left - 1;
            let member = &cluster.members[local as usize];
            let found = &mut self.cells.cells[cell as usize];
            if !found.suffices(member) {
                continue;
            }
            if found.queued & (1 << local) == 0 {
                found.queued |= 1 << local;
                let lead = found.first(member.arcs[0], &self.nodes.tokens);
                let arrival = self.nodes.tokens[lead as usize].arrival;
                self.push_ready(member.transition, arrival, cell);
            }
            self.touch(member.transition);
        }
    }

    #[inline(always)]
    fn push_ready(&mut self, transition: u32, arrival: u64, cell: u32) {
        let ready = &mut self.cells.ready[transition as usize];
        ready.push(Reverse((arrival, cell)));
        // Each cell has at most one valid entry. If most entries are out of date, these are
        // removed, so that the heap stays small.
        if ready.len() > 64 + 4 * self.cells.cells.len() {
            self.remove_stale(transition);
        }
    }

    #[cold]
    fn remove_stale(&mut self, transition: u32) {
        let (cluster, local) = self.net.transitions[transition as usize]
            .member
            .expect("only members of clusters have cells");
        let member = &self.net.clusters[cluster as usize].members[local as usize];
        let mut entries = std::mem::take(&mut self.cells.ready[transition as usize]).into_vec();
        entries.sort_unstable();
        entries.dedup();
        entries.retain(|&Reverse((arrival, cell))| {
            let found = &self.cells.cells[cell as usize];
            let lead = found.first(member.arcs[0], &self.nodes.tokens);
            lead != NONE && self.nodes.tokens[lead as usize].arrival == arrival
        });
        self.cells.ready[transition as usize] = entries.into();
    }

    /// Finds the first binding of a transition that is a member of a cluster. Writes the binding's
    /// tokens to `found` and returns the arrival number of the token that arrived last. None if the
    /// transition cannot fire.
    #[inline(always)]
    pub(crate) fn first_in_cells(
        &mut self,
        transition: usize,
        (cluster, local): (u32, u32),
        found: &mut [u32],
    ) -> Option<u64> {
        let member = &self.net.clusters[cluster as usize].members[local as usize];
        let tokens = &self.nodes.tokens[..];
        let ready = &mut self.cells.ready[transition];
        loop {
            let &Reverse((arrival, index)) = ready.peek()?;
            let cell = &mut self.cells.cells[index as usize];
            let (mut latest, mut lead, mut complete) = (0, 0, true);
            for (at, (&mask, found)) in member.arcs.iter().zip(&mut *found).enumerate() {
                *found = cell.first(mask, tokens);
                if *found == NONE {
                    complete = false;
                    continue;
                }
                let arrived = tokens[*found as usize].arrival;
                latest = latest.max(arrived);
                if at == 0 {
                    lead = arrived;
                }
            }
            if complete && lead == arrival {
                return Some(latest);
            }
            if lead == arrival {
                cell.queued &= !(1 << local);
            }
            ready.pop();
        }
    }

    /// Removes the tokens `chosen` from their places. They are the first binding of `transition`,
    /// and `member.0` is the index of the transition's cluster.
    #[inline(always)]
    pub(crate) fn take_from_cell(&mut self, member: (u32, u32), transition: usize, chosen: &[u32]) {
        let cluster = &self.net.clusters[member.0 as usize];
        let index = self.nodes.tokens[chosen[0] as usize].cell();
        let (mut takers, mut led) = (0, 0);
        for &token in chosen.iter() {
            let Token { place, next, .. } = self.nodes.tokens[token as usize];
            let lane = self.nodes.tokens[token as usize].lane() as usize;
            if self.counted[place as usize] {
                self.count(place, token, -1);
            }
            let cell = &mut self.cells.cells[index as usize];
            debug_assert_eq!(cell.lanes[lane].head, token, "a binding has first tokens");
            cell.lanes[lane].head = next;
            cell.filled &= !(u32::from(next == NONE) << lane);
            takers |= cluster.takers[lane];
            led |= cluster.led[lane];
        }
        self.cells.ready[transition].pop();
        let cell = &mut self.cells.cells[index as usize];
        let mut changed = cell.queued & takers;
        cell.queued &= !led;
        if cell.filled == 0 && cell.hashed {
            self.cells.free(index);
        }
        self.touch(transition as u32);
        while changed != 0 {
            let local = changed.trailing_zeros();
            changed &= changed - 1;
            self.touch(cluster.members[local as usize].transition);
            self.offer(index, cluster, 1 << local);
        }
    }
}
