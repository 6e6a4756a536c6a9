//! Buckets of waiting tokens: a list, an array or a heap, as the place's discipline asks.

use crate::compiled::{Discipline, View};
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

/// Marks the number of a membership that is not its token's first.
const FURTHER: u32 = 1 << 31;

/// All memberships of all tokens. A token's first has the token's number and is always there;
/// further ones are made as needed, and freed ones are used again.
#[derive(Debug)]
pub(crate) struct Nodes {
    first: Vec<Node>,
    further: Vec<Node>,
    free: u32,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            further: Vec::new(),
            free: NONE,
        }
    }
}

impl Nodes {
    /// Makes room for the first membership of one token more.
    pub(crate) fn add_token(&mut self) {
        let token = self.first.len() as u32;
        assert!(token < FURTHER, "tokens are limited to fewer");
        self.first.push(Node {
            token,
            bucket: NONE,
            sibling: NONE,
            before: NONE,
            after: NONE,
        });
    }

    /// A membership of a token that has those from `sibling` on already.
    #[inline(always)]
    pub(crate) fn make(&mut self, token: u32, bucket: u32, sibling: u32) -> u32 {
        if sibling != NONE {
            return self.make_further(token, bucket, sibling);
        }
        self.first[token as usize] = Node {
            token,
            bucket,
            sibling: NONE,
            before: NONE,
            after: NONE,
        };
        token
    }

    fn make_further(&mut self, token: u32, bucket: u32, sibling: u32) -> u32 {
        let node = Node {
            token,
            bucket,
            sibling,
            before: NONE,
            after: NONE,
        };
        if self.free == NONE {
            self.further.push(node);
            return (self.further.len() as u32 - 1) | FURTHER;
        }
        let index = self.free;
        let slot = self.at(index);
        self.free = std::mem::replace(slot, node).after;
        index
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, index: u32) {
        if index & FURTHER != 0 {
            let free = self.free;
            self.at(index).after = free;
            self.free = index;
        }
    }

    /// The token of a membership: its own number where it is the first.
    #[inline(always)]
    pub(crate) fn token_of(&self, index: u32) -> u32 {
        match index & FURTHER {
            0 => index,
            _ => self.further[(index ^ FURTHER) as usize].token,
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Node {
        match index & FURTHER {
            0 => self.first[index as usize],
            _ => self.further[(index ^ FURTHER) as usize],
        }
    }

    #[inline(always)]
    fn at(&mut self, index: u32) -> &mut Node {
        match index & FURTHER {
            0 => &mut self.first[index as usize],
            _ => &mut self.further[(index ^ FURTHER) as usize],
        }
    }
}

/// Tokens that fit one arc (and one key), in the order in which they are taken.
///
/// Small, because a run looks at one for every token that comes or goes.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// Whose binding the tokens may be part of, and whether any change may change it.
    pub(crate) transition: u32,
    pub(crate) searches: bool,
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
#[allow(
    clippy::box_collection,
    reason = "a vector of three words would make every bucket larger"
)]
enum Store {
    Fifo,
    Lifo,
    Array(Vec<u32>),
    Heap(Box<Ranked>),
}

impl Bucket {
    pub(crate) fn new(view: &View, group: u32) -> Self {
        let store = match view.discipline {
            Discipline::Fifo => Store::Fifo,
            Discipline::Lifo => Store::Lifo,
            Discipline::Random => Store::Array(Vec::new()),
            Discipline::Least { .. } => Store::Heap(Box::default()),
        };
        Self {
            transition: view.transition,
            searches: view.searches,
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
        nodes.get(node).after
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
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        nodes: &mut Nodes,
        index: u32,
        rank: impl FnOnce() -> Rank,
    ) -> bool {
        if let Store::Fifo = self.store {
            // By far the commonest, so tested before the table of the others.
            nodes.at(index).before = self.tail;
            match self.tail {
                NONE => self.head = index,
                tail => nodes.at(tail).after = index,
            }
            self.tail = index;
            return self.head == index;
        }
        self.add_elsewhere(nodes, index, rank())
    }

    #[inline(never)]
    fn add_elsewhere(&mut self, nodes: &mut Nodes, index: u32, rank: Rank) -> bool {
        match &mut self.store {
            Store::Fifo => unreachable!("a fifo place adds in line"),
            Store::Lifo => {
                nodes.at(index).after = self.head;
                match self.head {
                    NONE => self.tail = index,
                    head => nodes.at(head).before = index,
                }
                self.head = index;
            }
            Store::Array(array) => {
                nodes.at(index).before = array.len() as u32;
                array.push(index);
                self.head = array[0];
            }
            Store::Heap(heap) => {
                heap.insert(rank, index, |node, at| nodes.at(node).before = at);
                self.head = heap.first().unwrap_or(NONE);
            }
        }
        self.head == index
    }

    /// Takes a node out; true when it was the first.
    #[inline(always)]
    pub(crate) fn remove(&mut self, nodes: &mut Nodes, index: u32) -> bool {
        let was_first = self.head == index;
        let Node { before, after, .. } = nodes.get(index);
        match &mut self.store {
            Store::Fifo | Store::Lifo => {
                match before {
                    NONE => self.head = after,
                    before => nodes.at(before).after = after,
                }
                match after {
                    NONE => self.tail = before,
                    after => nodes.at(after).before = before,
                }
            }
            _ => self.remove_elsewhere(nodes, before),
        }
        was_first
    }

    #[inline(never)]
    fn remove_elsewhere(&mut self, nodes: &mut Nodes, before: u32) {
        match &mut self.store {
            Store::Fifo | Store::Lifo => unreachable!("lists remove in line"),
            Store::Array(array) => {
                array.swap_remove(before as usize);
                if let Some(&moved) = array.get(before as usize) {
                    nodes.at(moved).before = before;
                }
                self.head = array.first().copied().unwrap_or(NONE);
            }
            Store::Heap(heap) => {
                heap.remove(before, |node, at| nodes.at(node).before = at);
                self.head = heap.first().unwrap_or(NONE);
            }
        }
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
        FieldType::List(_) | FieldType::Record(_) | FieldType::Text => {
            unreachable!("no discipline goes by a list")
        }
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
