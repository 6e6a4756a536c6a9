//! The cells of clusters, and how the cell of a key is found. A cluster is a group of transitions
//! that share input places. The key is the value by which the transitions match tokens. A cell has
//! the waiting tokens of one cluster that have the same key.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use super::group::{direct_limits, KeyHasher};
use crate::cluster::{Cluster, Member, LANES_MAX};
use crate::compiled::{CompiledNet, Key};
use crate::marking::bucket::{Token, NONE};

/// The tokens of one lane, which is a first-in first-out list of a cell. They form a linked list in
/// order of arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) head: u32,
    pub(super) tail: u32,
}

/// The waiting tokens of one cluster that have the same key. A cluster is a group of transitions
/// that share input places. The key is the value by which their tokens are matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The lanes that have tokens, as a set of bits.
    pub(super) filled: u32,
    /// The members (transitions) of the cluster whose heap `ready` has a valid entry for this cell,
    /// as a set of bits. An entry becomes invalid when the first token for the member's first input
    /// arc changes.
    pub(super) queued: u32,
    cluster: u32,
    /// Whether the cell is found through the hash table. Such a cell is removed when it is empty.
    pub(super) hashed: bool,
    pub(super) lanes: [Lane; LANES_MAX],
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

    /// Whether the cell has a token for each input arc of a transition of the cluster (a member).
    #[inline(always)]
    pub(super) fn suffices(&self, member: &Member) -> bool {
        member.arcs.iter().all(|mask| self.filled & mask != 0)
    }

    /// The token that arrived first in some lanes of the cell; NONE if these lanes have no token.
    /// `mask` is the set of these lanes, as bits.
    #[inline(always)]
    pub(super) fn first(&self, mask: u32, tokens: &[Token]) -> u32 {
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
pub(super) struct Directory {
    /// A table that gives the cell for a small value of the only joined field; NONE if there is no
    /// such cell. Cells with larger values, or with several joined fields, are in `by_key`. If the
    /// cluster has no joined field, its only cell is at index 0.
    pub(super) direct: Vec<u32>,
    by_key: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    /// Cells that are not in use.
    free: Vec<u32>,
    limit: u64,
}

/// The cells with which a transition can fire, as a heap. An entry is (arrival number of the cell's
/// token for the first input arc, number of the cell). An entry is out of date in two cases:
/// another token is now the first one of the cell, or another input arc finds no token in the cell.
/// The engine removes such entries when it meets them.
pub(super) type Ready = BinaryHeap<Reverse<(u64, u32)>>;

#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    /// For each cell, its key.
    keys: Vec<Key>,
    pub(super) directories: Vec<Directory>,
    /// For each transition that is a member of a cluster, the cells with which it can fire.
    pub(super) ready: Vec<Ready>,
}

impl Cells {
    pub(super) fn new(net: &CompiledNet) -> Self {
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
    pub(super) fn cell_of_key(&mut self, cluster: u32, key: Key, single: bool) -> u32 {
        let directory = &mut self.directories[cluster as usize];
        if let Some(&cell) = directory.by_key.get(&key) {
            return cell;
        }
        // Values such as numbers of clients are dense and recur, so a table suits them. Values that
        // a run counts up, such as numbers of jobs, would make a table grow without bound. Cells
        // with such values are found by hash. They are freed and used again, so the number of cells
        // does not grow with the values.
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
    pub(super) fn free(&mut self, cell: u32) {
        let directory = &mut self.directories[self.cells[cell as usize].cluster as usize];
        directory.by_key.remove(&self.keys[cell as usize]);
        directory.free.push(cell);
    }
}
