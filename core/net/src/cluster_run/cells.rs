//! Stores the waiting tokens of a run over clusters in cells, and orders the transitions that can
//! fire.
//!
//! A cluster is a group of transitions that share input places. A cell stores those waiting tokens
//! of a cluster that have the same key (values of the joined fields). Within a cell, tokens wait in
//! first-in first-out lanes. If a transition can fire with several cells, it takes the cell whose
//! token for the first input arc arrived first.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use super::plan::{CellLayout, ClusterTable};
use super::table::Table;
use crate::cluster::LANES_MAX;
use crate::compiled::Key;
use crate::marking::bucket::NONE;
use crate::marking::KeyHasher;
use crate::stream::Stream;

/// The waiting tokens of one cluster that have the same key. A cell fills one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Cell {
    /// The lanes that have tokens, as a set of bits.
    pub(super) filled: u8,
    /// Whether the cell is found through the hash table. Such a cell is freed when it is empty.
    pub(super) hashed: bool,
    /// All lanes of the cell, as a set of bits, in the case that the cluster has one transition
    /// that takes one token from each lane. Otherwise 0.
    pub(super) full: u8,
    /// If `full` is not 0: the lane from which the transition's first input arc takes its token.
    pub(super) first_lane: u8,
    /// The members (transitions) of the cluster whose lists of ready cells have a valid entry for
    /// this cell, as a set of bits. An entry becomes invalid when the first token for the member's
    /// first input arc changes. Not used if `full` is not 0.
    pub(super) queued: u32,
    /// The positions in the plan's lists `able` and `members` at which the entries of the cell's
    /// cluster begin.
    pub(super) table: ClusterTable,
    /// The first and the last token of each lane. Undefined for a lane without tokens.
    pub(super) lanes: [(u32, u32); LANES_MAX],
}

/// Finds the cells of one cluster by their keys.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// A table that gives the cell for a small value of the only joined field; NONE if there is no
    /// such cell. Cells with larger values, or with several joined fields, are in `by_key`. If the
    /// cluster has no joined field, its only cell is at index 0.
    pub(super) direct: Vec<u32>,
    by_key: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    free: Vec<u32>,
    limit: u64,
}

/// All cells of a run.
#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) cells: Table<Cell>,
    /// For each cell, its cluster and its key.
    keys: Vec<(u32, Key)>,
    pub(super) directories: Table<Directory>,
}

impl Cells {
    /// Creates a store without cells. `limits` has one number for each cluster: cells for values of
    /// the joined field below this number are found in a table, not by hash.
    pub(super) fn new(limits: Vec<u64>) -> Self {
        let directory = |limit| Directory {
            limit,
            ..Directory::default()
        };
        Self {
            directories: limits.into_iter().map(directory).collect(),
            ..Self::default()
        }
    }

    /// Returns the cell for the tokens of a cluster that have this key. Creates the cell if there
    /// is none. `single` is true if the key has at most one field.
    #[inline(never)]
    pub(super) fn of_key(
        &mut self,
        (cluster, layout): (u32, CellLayout),
        key: Key,
        single: bool,
    ) -> u32 {
        let directory = &mut self.directories[cluster as usize];
        if let Some(&cell) = directory.by_key.get(&key) {
            return cell;
        }
        // Numbers of clients, for example, are dense and recur, so a table suits such values. A run
        // also counts up values, such as numbers of jobs; these would let a table grow without
        // bound. Their cells are found by hash, and are freed and used again, so the number of
        // cells does not grow with the values.
        let dense = directory.limit.max(4 * self.cells.len() as u64);
        let direct = single && key[0] < dense;
        let cell = directory.free.pop().unwrap_or_else(|| {
            self.cells.push(Cell {
                filled: 0,
                hashed: true,
                full: layout.full,
                first_lane: layout.first_lane,
                queued: 0,
                table: layout.table,
                lanes: [(NONE, NONE); LANES_MAX],
            });
            self.keys.push((cluster, key));
            self.cells.len() as u32 - 1
        });
        self.keys[cell as usize] = (cluster, key);
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

    /// Frees an empty cell that is found through the hash table.
    #[inline(never)]
    pub(super) fn free(&mut self, cell: u32) {
        let (cluster, key) = &self.keys[cell as usize];
        let directory = &mut self.directories[*cluster as usize];
        directory.by_key.remove(key);
        directory.free.push(cell);
    }
}

/// A cell with which a transition can fire, as three numbers. The first is the arrival number of
/// the cell's token for the first input arc. The second is the number of the cell. The third is the
/// arrival number of the token that arrived last among the tokens of the binding, when the entry
/// was made.
pub(super) type Entry = (u64, u32, u64);

/// An entry of a heap. The heap yields the entry with the smallest first number. The other two
/// numbers are not compared, since two valid entries of a transition never have the same first
/// number.
#[derive(Clone, Copy, Debug)]
struct Ready(Entry);

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.0 .0 == other.0 .0
    }
}

impl Eq for Ready {}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0 .0.cmp(&self.0 .0)
    }
}

/// Largest number of entries in an unordered list. If there are more entries, a heap finds the
/// smallest entry in fewer steps than a search of the list.
const MANY: usize = 8;

/// The cells with which a transition can fire, except the first one. At most `MANY` entries form an
/// unordered list. More entries form a heap, until fewer than `MANY` / 2 entries are left.
#[derive(Debug)]
enum Others {
    Few(Vec<Entry>),
    Many(BinaryHeap<Ready>),
}

impl Others {
    #[inline(always)]
    fn len(&self) -> usize {
        match self {
            Others::Few(entries) => entries.len(),
            Others::Many(heap) => heap.len(),
        }
    }

    #[inline(always)]
    fn push(&mut self, entry: Entry) {
        match self {
            Others::Few(entries) if entries.len() < MANY => entries.push(entry),
            Others::Few(entries) => {
                let mut heap: BinaryHeap<Ready> = entries.drain(..).map(Ready).collect();
                heap.push(Ready(entry));
                *self = Others::Many(heap);
            }
            Others::Many(heap) => heap.push(Ready(entry)),
        }
    }

    /// Removes and returns the entry with the smallest first number.
    #[inline(always)]
    fn pop(&mut self) -> Option<Entry> {
        match self {
            Others::Few(entries) => {
                let mut least = 0;
                let mut lead = entries.first()?.0;
                for (at, entry) in entries.iter().enumerate().skip(1) {
                    if entry.0 < lead {
                        (least, lead) = (at, entry.0);
                    }
                }
                Some(entries.swap_remove(least))
            }
            Others::Many(heap) => {
                let found = heap.pop()?.0;
                if heap.len() < MANY / 2 {
                    *self = Others::Few(self.take());
                }
                Some(found)
            }
        }
    }

    /// Removes and returns all entries, in arbitrary order.
    fn take(&mut self) -> Vec<Entry> {
        match std::mem::replace(self, Others::Few(Vec::new())) {
            Others::Few(entries) => entries,
            Others::Many(heap) => heap.into_vec().into_iter().map(|entry| entry.0).collect(),
        }
    }
}

/// The state of a transition: the cells with which it can fire, and the data that its firings use.
/// The first of these cells is the one whose token for the first input arc arrived first. It is
/// stored separately from the other cells (`rest`), because there is seldom another cell.
#[derive(Debug)]
pub(super) struct State {
    /// Arrival number of the last token of the binding, as in the sort key of the transition among
    /// those that are enabled; u64::MAX if the transition is not enabled. The other parts of the
    /// key do not change.
    turn: u64,
    /// Arrival number of the first cell's token for the first input arc; u64::MAX if there is no
    /// cell.
    pub(super) lead: u64,
    pub(super) cell: u32,
    /// Arrival number of the last token of the binding when the first cell's entry was made.
    pub(super) latest: u64,
    /// Whether a monitor observes the firings.
    pub(super) is_watched: bool,
    /// Whether the run may fire the transition by the faster code for its shape (`Move::shape`).
    /// False if a monitor, or the check of a law such as Little's law, observes the run.
    pub(super) is_short: bool,
    /// Whether the values of the transition's formulas are those of its last firing.
    pub(super) has_values: bool,
    /// The priority level: 0 fires first.
    level: u32,
    /// Number of firings.
    pub(super) fired: u64,
    pub(super) stream: Stream,
    /// Entries of all cells except the first one. An entry is out of date in two cases: the first
    /// input arc would now take another token of the cell, or another input arc finds no token in
    /// the cell.
    rest: Others,
}

impl State {
    pub(super) fn new(level: u32, fired: u64, stream: Stream) -> Self {
        Self {
            turn: u64::MAX,
            lead: u64::MAX,
            cell: NONE,
            latest: 0,
            is_watched: false,
            is_short: false,
            has_values: false,
            level,
            fired,
            stream,
            rest: Others::Few(Vec::new()),
        }
    }

    /// Sets the sort key of the transition with the index `transition`, and returns the key.
    /// `latest` is the arrival number of the token that arrived last among the tokens of the
    /// transition's binding.
    #[inline(always)]
    pub(super) fn set_turn(&mut self, latest: u64, transition: u32) -> Turn {
        self.turn = latest;
        turn_of(self.level, latest, transition)
    }

    /// Records that the transition is not enabled.
    #[inline(always)]
    pub(super) fn clear_turn(&mut self) {
        self.turn = u64::MAX;
    }

    /// Whether the transition is enabled, and `latest` is the arrival number in its sort key.
    #[inline(always)]
    pub(super) fn has_latest(&self, latest: u64) -> bool {
        self.turn == latest
    }

    /// Whether `turn`, a sort key that the transition had, is its present key.
    #[inline(always)]
    pub(super) fn has_turn(&self, turn: Turn) -> bool {
        self.has_latest(latest_of(turn))
    }

    /// Adds a cell with which the transition can fire. Returns true if this cell is now the first
    /// one.
    #[inline(always)]
    pub(super) fn add(&mut self, entry: Entry) -> bool {
        if self.lead == u64::MAX {
            (self.lead, self.cell, self.latest) = entry;
            return true;
        }
        self.add_to_others(entry)
    }

    #[inline(never)]
    fn add_to_others(&mut self, entry: Entry) -> bool {
        if entry.0 > self.lead {
            self.rest.push(entry);
            return false;
        }
        self.rest.push((self.lead, self.cell, self.latest));
        (self.lead, self.cell, self.latest) = entry;
        true
    }

    /// Removes the first cell from the list. The next one becomes the first.
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        if self.rest.len() == 0 {
            self.lead = u64::MAX;
            return;
        }
        self.next_becomes_first();
    }

    #[inline(never)]
    fn next_becomes_first(&mut self) {
        if let Some(next) = self.rest.pop() {
            (self.lead, self.cell, self.latest) = next;
        }
    }

    /// Number of cells after the first one, including entries that are out of date.
    pub(super) fn others(&self) -> usize {
        self.rest.len()
    }

    /// Removes and returns the entries of the cells after the first one, in arbitrary order.
    pub(super) fn take_others(&mut self) -> Vec<Entry> {
        self.rest.take()
    }

    /// Replaces the entries of the cells after the first one.
    pub(super) fn set_others(&mut self, entries: Vec<Entry>) {
        self.rest = match entries.len() <= MANY {
            true => Others::Few(entries),
            false => Others::Many(entries.into_iter().map(Ready).collect()),
        };
    }
}

/// Sort key of an enabled transition. It has three parts: the priority level, the arrival number of
/// the token that arrived last among the tokens of the binding, and the index of the transition.
/// The transition with the smallest key fires next.
pub(super) type Turn = u128;

/// The sort key of a transition that is not enabled.
pub(super) const NO_TURN: Turn = Turn::MAX;

/// The sort key of an enabled transition.
#[inline(always)]
pub(super) fn turn_of(level: u32, latest: u64, transition: u32) -> Turn {
    (u128::from(level) << 96) | (u128::from(latest) << 32) | u128::from(transition)
}

/// The arrival number that is the second part of a sort key.
#[inline(always)]
fn latest_of(turn: Turn) -> u64 {
    (turn >> 32) as u64
}

/// The sort keys of enabled transitions, in ascending order. Keys of transitions that are no longer
/// enabled, or have another key now, stay in the list and are skipped by the reader. Arrival
/// numbers rise, so a new key is nearly always the largest key of its priority. It is then appended
/// at the end.
#[derive(Debug, Default)]
pub(super) struct Turns {
    keys: Vec<Turn>,
    /// Number of keys at the start of `keys` that were removed already.
    removed: usize,
}

impl Turns {
    #[inline(always)]
    pub(super) fn add(&mut self, turn: Turn) {
        if self.keys.len() == self.keys.capacity() {
            return self.add_with_room(turn);
        }
        let in_order = self.keys.last().is_none_or(|&last| last < turn);
        self.keys.push(turn);
        if !in_order {
            self.move_last_forward(turn);
        }
    }

    /// Adds a key. First frees or reserves storage for the key.
    #[cold]
    #[inline(never)]
    fn add_with_room(&mut self, turn: Turn) {
        self.make_room();
        self.add(turn);
    }

    /// Moves the last key, `turn`, to its position in the ascending order.
    #[inline(never)]
    fn move_last_forward(&mut self, turn: Turn) {
        let waiting = &mut self.keys[self.removed..];
        let mut at = waiting.len() - 1;
        while at > 0 && waiting[at - 1] > turn {
            waiting[at] = waiting[at - 1];
            at -= 1;
        }
        waiting[at] = turn;
    }

    /// Frees the storage of removed keys if more than half of all keys are removed. Otherwise
    /// reserves storage for more keys.
    fn make_room(&mut self) {
        if 2 * self.removed > self.keys.len() {
            self.keys.drain(..self.removed);
            self.removed = 0;
        } else {
            self.keys.reserve(64);
        }
    }

    /// The smallest key.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<Turn> {
        self.keys.get(self.removed).copied()
    }

    /// Removes and returns the smallest key.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Turn> {
        let first = self.keys.get(self.removed).copied();
        match first {
            Some(_) => self.removed += 1,
            None => {
                self.keys.clear();
                self.removed = 0;
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cell_whose_token_arrived_first_is_the_first() {
        let mut stream = Stream::new(11, 0, 0);
        let mut state = State::new(0, 0, Stream::new(0, 0, 0));
        let mut wanted: Vec<u64> = Vec::new();
        let mut longest = 0;
        for step in 0..20_000 {
            // Additions prevail for 50 steps, then removals for 50 steps, so that the list becomes
            // alternately long and short.
            let adds = stream.below(8) < if step / 50 % 2 == 0 { 6 } else { 2 };
            let lead = stream.below(1 << 40) as u64;
            if adds && !wanted.contains(&lead) {
                let is_first = state.add((lead, lead as u32, lead + 1));
                assert_eq!(is_first, wanted.iter().all(|&other| lead < other));
                wanted.push(lead);
                wanted.sort_unstable();
            } else if !wanted.is_empty() {
                state.drop_first();
                wanted.remove(0);
            }
            longest = longest.max(wanted.len());
            let first = wanted.first().copied();
            assert_eq!(state.lead, first.unwrap_or(u64::MAX), "step {step}");
            if let Some(lead) = first {
                assert_eq!((state.cell, state.latest), (lead as u32, lead + 1));
                assert_eq!(state.others(), wanted.len() - 1);
            }
        }
        assert!(longest > 2 * MANY, "{longest} cells at most");
    }
}
