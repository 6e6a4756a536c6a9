//! Stores the waiting tokens of clusters in cells, one for each key, and finds the bindings of the
//! transitions of clusters.
//!
//! A cell stores its tokens in lanes (first-in first-out lists). Whether a transition can fire with
//! the tokens of a cell depends only on which lanes have tokens, which is a set of bits. If a
//! transition can fire with several cells, it takes the cell whose token for the first input arc
//! arrived first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use super::join::{direct_limits, KeyHasher};
use super::Marking;
use crate::compiled::{
    Cluster, Key, KeyKind, Lanes, Member, Net, Seat, Test, KEY_FIELDS_MAX, LANES_MAX,
};
use crate::marking::bucket::{Token, NONE};

/// The tokens of one lane: a linked list, in order of arrival.
#[derive(Clone, Copy, Debug)]
struct Lane {
    head: u32,
    tail: u32,
}

/// The waiting tokens of one cluster that have the same key. A cluster is a group of transitions
/// that share input places. The key is the value by which their tokens are matched.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The lanes that hold tokens, as a set of bits.
    filled: u32,
    /// The members (transitions) of the cluster whose heap `ready` has a valid entry for this cell,
    /// as a set of bits. An entry is valid while the first token for the member's first input arc
    /// stays the same.
    queued: u32,
    cluster: u32,
    /// Whether the cell is found through the hash table. Such a cell is removed when it is empty.
    hashed: bool,
    lanes: [Lane; LANES_MAX],
}

impl Cell {
    fn new(cluster: u32, hashed: bool) -> Self {
        let empty = Lane {
            head: NONE,
            tail: NONE,
        };
        Self {
            filled: 0,
            queued: 0,
            cluster,
            hashed,
            lanes: [empty; LANES_MAX],
        }
    }

    /// Whether the cell holds a token for each input arc of a transition of the cluster (a member).
    #[inline(always)]
    fn suffices(&self, member: &Member) -> bool {
        member.arcs.iter().all(|mask| self.filled & mask != 0)
    }

    /// The token that arrived first in the lanes whose bits are set in `mask`; NONE if they hold no
    /// token.
    #[inline(always)]
    fn first(&self, mask: u32, tokens: &[Token]) -> u32 {
        let found = self.filled & mask;
        if found & found.wrapping_sub(1) == 0 {
            return match found {
                0 => NONE,
                _ => self.lanes[found.trailing_zeros() as usize].head,
            };
        }
        let lanes = (0..LANES_MAX).filter(|lane| found & (1 << lane) != 0);
        let heads = lanes.map(|lane| self.lanes[lane].head);
        let earliest = heads.min_by_key(|&token| tokens[token as usize].arrival);
        earliest.unwrap_or(NONE)
    }
}

/// Finds the cells of one cluster by their keys.
#[derive(Debug, Default)]
struct Directory {
    /// The cell for each value of the only joined field, or NONE. Contains only values below
    /// `limit`. The cell of a cluster without joined fields has the value 0.
    direct: Vec<u32>,
    by_key: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    /// Cells that are not in use.
    free: Vec<u32>,
    limit: u64,
}

/// The cells with which a transition can fire, as a heap. An entry is (arrival number of the cell's
/// token for the first input arc, number of the cell). An entry is out of date if another token is
/// now the first one of the cell, or if another input arc finds no token in the cell. The engine
/// removes such entries when it meets them.
type Ready = BinaryHeap<Reverse<(u64, u32)>>;

#[derive(Debug, Default)]
pub(super) struct Cells {
    cells: Vec<Cell>,
    /// For each cell, its key.
    keys: Vec<Key>,
    directories: Vec<Directory>,
    /// For each transition that is a member of a cluster, the cells with which it can fire.
    ready: Vec<Ready>,
}

impl Cells {
    pub(super) fn new(net: &Net) -> Self {
        let limits = match net.clusters.is_empty() {
            true => Vec::new(),
            false => direct_limits(net),
        };
        let directory = |cluster: &Cluster| {
            let members = cluster.members.iter();
            let limit = members
                .map(|member| limits[member.transition as usize])
                .max();
            Directory {
                limit: limit.unwrap_or(0),
                ..Directory::default()
            }
        };
        Self {
            directories: net.clusters.iter().map(directory).collect(),
            ready: vec![Ready::new(); net.transitions.len()],
            ..Self::default()
        }
    }

    /// Returns the cell for the tokens of a cluster that have this key. Creates the cell if there
    /// is none.
    #[inline(never)]
    fn cell_of_key(&mut self, cluster: u32, key: Key, single: bool) -> u32 {
        let directory = &mut self.directories[cluster as usize];
        if let Some(&cell) = directory.by_key.get(&key) {
            return cell;
        }
        // Values such as numbers of clients are dense and recur, so a table suits them. Values that
        // a run counts up, such as numbers of jobs, would make a table grow without bound: their
        // cells are freed and used again, so the number of cells does not grow with the values.
        let dense = directory.limit.max(4 * self.cells.len() as u64);
        let direct = single && key[0] < dense;
        let cell = match directory.free.pop() {
            Some(cell) => cell,
            None => {
                self.cells.push(Cell::new(cluster, true));
                self.keys.push(key);
                self.cells.len() as u32 - 1
            }
        };
        self.keys[cell as usize] = key;
        self.cells[cell as usize].hashed = !direct;
        if !direct {
            directory.by_key.insert(key, cell);
            return cell;
        }
        let at = key[0] as usize;
        if at >= directory.direct.len() {
            directory.direct.resize(at + 1, NONE);
        }
        directory.direct[at] = cell;
        cell
    }

    #[cold]
    fn free(&mut self, cell: u32) {
        let directory = &mut self.directories[self.cells[cell as usize].cluster as usize];
        directory.by_key.remove(&self.keys[cell as usize]);
        directory.free.push(cell);
    }
}

impl Marking<'_> {
    /// Adds a token to the lane that its `seat` states, in the cell of the token's key. Returns
    /// false if the evaluation of a guard fails.
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

    /// Returns the lane of a token whose place has tests. `Some(NONE)` if no transition can take
    /// the token; None if the evaluation of a guard fails.
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
        // There is at most one entry that is up to date for each cell. If most entries are out of
        // date, they are removed, so that the heap stays small.
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

    /// Finds the binding of a member of a cluster. Writes the binding's tokens to `found` and
    /// returns the arrival number of the last of them. None if the transition cannot fire.
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
