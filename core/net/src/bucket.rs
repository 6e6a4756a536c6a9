//! Buckets of waiting tokens: a list, an array or a heap, as the place's discipline asks.

use crate::compiled::Discipline;
use crate::definition::FieldType;
use crate::ranked::{Rank, Ranked};

/// No node, no token, no group.
pub(crate) const NONE: u32 = u32::MAX;

/// A token's membership in one bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) token: u32,
    pub(crate) bucket: u32,
    /// The next membership of the same token.
    pub(crate) sibling: u32,
    /// The neighbour before in a list; the position in an array or heap.
    before: u32,
    after: u32,
}

/// Tokens that fit one arc (and one key), in the order in which they are taken.
///
/// Small, because a run looks at one for every token that comes or goes.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) view: u32,
    /// The group of joined arcs, or none.
    pub(crate) group: u32,
    /// The node taken first, or none; for a random place any node.
    head: u32,
    /// The last node of a list.
    tail: u32,
    store: Store,
}

/// Where the nodes are kept.
#[derive(Clone, Debug)]
enum Store {
    Fifo,
    Lifo,
    Array(Box<Vec<u32>>),
    Heap(Box<Ranked>),
}

/// All memberships of all tokens; freed ones are used again.
#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    free: u32,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
        }
    }
}

impl Nodes {
    #[inline]
    pub(crate) fn make(&mut self, token: u32, bucket: u32, sibling: u32) -> u32 {
        let node = Node {
            token,
            bucket,
            sibling,
            before: NONE,
            after: NONE,
        };
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].after;
        self.nodes[index as usize] = node;
        index
    }

    #[inline]
    pub(crate) fn release(&mut self, index: u32) {
        self.nodes[index as usize].after = self.free;
        self.free = index;
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Node {
        self.nodes[index as usize]
    }
}

impl Bucket {
    pub(crate) fn new(view: u32, group: u32, discipline: Discipline) -> Self {
        let store = match discipline {
            Discipline::Fifo => Store::Fifo,
            Discipline::Lifo => Store::Lifo,
            Discipline::Random => Store::Array(Box::default()),
            Discipline::Least { .. } => Store::Heap(Box::default()),
        };
        Self {
            view,
            group,
            head: NONE,
            tail: NONE,
            store,
        }
    }

    /// The node taken first, or none; for a random place any node.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.head
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The node after `node` in a list.
    #[inline]
    pub(crate) fn after(&self, nodes: &Nodes, node: u32) -> u32 {
        nodes.nodes[node as usize].after
    }

    /// The nodes of a heap in rank order.
    pub(crate) fn sorted(&self, into: &mut Vec<u32>) {
        let Store::Heap(heap) = &self.store else {
            return;
        };
        let mut members = heap.members().to_vec();
        members.sort_unstable();
        into.extend(members.iter().map(|member| member.1));
    }

    /// The nodes of a random place, in no order that means anything.
    pub(crate) fn array(&self) -> &[u32] {
        match &self.store {
            Store::Array(array) => array,
            _ => &[],
        }
    }

    /// Adds a node; true when it is now the first. Only a heap asks for the rank.
    #[inline]
    pub(crate) fn add(
        &mut self,
        nodes: &mut Nodes,
        index: u32,
        rank: impl FnOnce() -> Rank,
    ) -> bool {
        let nodes = &mut nodes.nodes;
        match &mut self.store {
            Store::Fifo => {
                nodes[index as usize].before = self.tail;
                match self.tail {
                    NONE => self.head = index,
                    tail => nodes[tail as usize].after = index,
                }
                self.tail = index;
            }
            Store::Lifo => {
                nodes[index as usize].after = self.head;
                match self.head {
                    NONE => self.tail = index,
                    head => nodes[head as usize].before = index,
                }
                self.head = index;
            }
            Store::Array(array) => {
                nodes[index as usize].before = array.len() as u32;
                array.push(index);
                self.head = array[0];
            }
            Store::Heap(heap) => {
                heap.insert(rank(), index, |node, at| nodes[node as usize].before = at);
                self.head = heap.first().unwrap_or(NONE);
            }
        }
        self.head == index
    }

    /// Takes a node out; true when it was the first.
    #[inline]
    pub(crate) fn remove(&mut self, nodes: &mut Nodes, index: u32) -> bool {
        let was_first = self.head == index;
        let nodes = &mut nodes.nodes;
        let Node { before, after, .. } = nodes[index as usize];
        match &mut self.store {
            Store::Fifo | Store::Lifo => {
                match before {
                    NONE => self.head = after,
                    before => nodes[before as usize].after = after,
                }
                match after {
                    NONE => self.tail = before,
                    after => nodes[after as usize].before = before,
                }
            }
            Store::Array(array) => {
                array.swap_remove(before as usize);
                if let Some(&moved) = array.get(before as usize) {
                    nodes[moved as usize].before = before;
                }
                self.head = array.first().copied().unwrap_or(NONE);
            }
            Store::Heap(heap) => {
                heap.remove(before, |node, at| nodes[node as usize].before = at);
                self.head = heap.first().unwrap_or(NONE);
            }
        }
        was_first
    }
}

/// The rank of a token: what its place's discipline compares, smaller first.
#[inline]
pub(crate) fn rank_of(discipline: Discipline, row: &[u64], arrival: u64) -> Rank {
    match discipline {
        Discipline::Fifo | Discipline::Random => (0, arrival),
        Discipline::Lifo => (0, u64::MAX - arrival),
        Discipline::Least { field, kind } => (ordered(row[field as usize], kind), arrival),
    }
}

/// A word such that unsigned order is the order of the value; NaN is above every number.
fn ordered(word: u64, kind: FieldType) -> u64 {
    const SIGN: u64 = 1 << 63;
    match kind {
        FieldType::Bool | FieldType::Enum(_) => word,
        FieldType::Int => word ^ SIGN,
        FieldType::Real if f64::from_bits(word).is_nan() => u64::MAX,
        FieldType::Real if word == SIGN => SIGN, // minus zero equals zero
        FieldType::Real if word & SIGN == 0 => word | SIGN,
        FieldType::Real => !word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_ordered_like_values() {
        let reals = [
            f64::NEG_INFINITY,
            -2.5,
            -0.0,
            0.0,
            1e-300,
            7.0,
            f64::INFINITY,
            f64::NAN,
        ];
        let words: Vec<u64> = reals
            .iter()
            .map(|r| ordered(r.to_bits(), FieldType::Real))
            .collect();
        assert!(words.windows(2).all(|pair| pair[0] <= pair[1]), "{words:?}");
        let wholes = [i64::MIN, -1, 0, 1, i64::MAX];
        let words: Vec<u64> = wholes
            .iter()
            .map(|&w| ordered(w as u64, FieldType::Int))
            .collect();
        assert!(words.windows(2).all(|pair| pair[0] < pair[1]), "{words:?}");
    }
}
