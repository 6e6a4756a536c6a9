//! Buckets have the tokens of a place that wait for one input arc. The form of a bucket depends on
//! the discipline of the place: a linked list, an array or a heap.

use crate::compiled::{Discipline, View};
use crate::definition::FieldType;
use crate::marking::ranked::{Rank, Ranked};

/// The index that means "none": no token, no group of buckets or no node. A node is the membership
/// of one token in one bucket.
pub(crate) const NONE: u32 = u32::MAX;

/// One token. Its earliest membership in a bucket is stored here, in `bucket` and the fields after
/// it; later memberships are separate nodes. The token's field values (its row) are in the
/// marking's array of rows. They begin at the token's index times the stride, which is the length
/// of a row.
///
/// The structure fills half a cache line. It has all numbers that a run reads about an arriving or
/// leaving token, except the field values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// Number of the token's arrival; arrivals in all places share one count. A fifo place takes
    /// its tokens in the order of this number.
    pub(crate) arrival: u64,
    pub(crate) place: u32,
    /// Number of the token's latest membership in a bucket; NONE while the token is in no bucket.
    /// The field `sibling` of a membership has the number of the membership made before it.
    pub(crate) nodes: u32,
    /// Number of the next token in a linked list. The list has either the tokens that become
    /// available at one time, or the freed tokens.
    pub(crate) next: u32,
    bucket: u32,
    before: u32,
    after: u32,
}

impl Token {
    /// A token that is not in a bucket yet.
    #[inline]
    pub(crate) fn new(place: u32) -> Self {
        Self {
            arrival: 0,
            place,
            nodes: NONE,
            next: NONE,
            bucket: NONE,
            before: NONE,
            after: NONE,
        }
    }

    /// Records that the token now waits last in a lane: lane number `lane` of cell number `cell`. A
    /// lane is a queue from which one cluster of transitions takes tokens. A token in a lane is in
    /// no bucket.
    #[inline(always)]
    pub(crate) fn enter_lane(&mut self, cell: u32, lane: u32) {
        self.next = NONE;
        self.bucket = cell;
        self.before = lane;
    }

    /// The number of the cell of a token that waits in a lane.
    #[inline(always)]
    pub(crate) fn cell(&self) -> u32 {
        self.bucket
    }

    /// The number of the lane in which the token waits.
    #[inline(always)]
    pub(crate) fn lane(&self) -> u32 {
        self.before
    }
}

/// A second or later membership of a token in a bucket; the first membership is part of `Token`.
#[derive(Clone, Copy, Debug)]
struct Further {
    token: u32,
    bucket: u32,
    /// Number of the token's membership that was made before this one.
    sibling: u32,
    before: u32,
    after: u32,
}

/// A copy of one membership of a token. It has the bucket and the token's previous membership. If
/// the bucket is a linked list, it also has the neighbours in the list. If the bucket is an array
/// or a heap, `before` is the position of the membership in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) bucket: u32,
    pub(crate) sibling: u32,
    before: u32,
    after: u32,
}

/// Bit that distinguishes the number of a second or later membership from the number of a token.
const FURTHER: u32 = 1 << 31;

/// All tokens with their memberships in buckets. A token's first membership is stored in the token
/// and has the token's number. Further memberships are created as needed, and freed ones are used
/// again.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(crate) tokens: Vec<Token>,
    further: Vec<Further>,
    free: u32,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            further: Vec::new(),
            free: NONE,
        }
    }
}

impl Nodes {
    /// Adds a token and returns its number.
    pub(crate) fn add_token(&mut self, token: Token) -> u32 {
        let index = self.tokens.len() as u32;
        assert!(index < FURTHER, "tokens are limited to fewer");
        reserve(&mut self.tokens, 1);
        self.tokens.push(token);
        index
    }

    /// Adds a membership of a token in a bucket. Returns the number of the membership and the
    /// token's arrival number.
    #[inline(always)]
    pub(crate) fn make(&mut self, token: u32, bucket: u32) -> (u32, u64) {
        let record = &mut self.tokens[token as usize];
        let arrival = record.arrival;
        if record.nodes != NONE {
            let sibling = record.nodes;
            let node = self.make_further(token, bucket, sibling);
            self.tokens[token as usize].nodes = node;
            return (node, arrival);
        }
        (record.bucket, record.before, record.after) = (bucket, NONE, NONE);
        record.nodes = token;
        (token, arrival)
    }

    fn make_further(&mut self, token: u32, bucket: u32, sibling: u32) -> u32 {
        let node = Further {
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
        let slot = &mut self.further[(index ^ FURTHER) as usize];
        self.free = std::mem::replace(slot, node).after;
        index
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, index: u32) {
        if index & FURTHER != 0 {
            self.further[(index ^ FURTHER) as usize].after = self.free;
            self.free = index;
        }
    }

    /// Returns the token of a membership. A token's first membership has the number of the token.
    #[inline(always)]
    pub(crate) fn token_of(&self, index: u32) -> u32 {
        match index & FURTHER {
            0 => index,
            _ => self.further[(index ^ FURTHER) as usize].token,
        }
    }

    /// Returns a copy of the membership with this number.
    #[inline(always)]
    pub(crate) fn member(&self, index: u32) -> Member {
        match index & FURTHER {
            0 => {
                let record = &self.tokens[index as usize];
                Member {
                    bucket: record.bucket,
                    sibling: NONE,
                    before: record.before,
                    after: record.after,
                }
            }
            _ => {
                let node = &self.further[(index ^ FURTHER) as usize];
                Member {
                    bucket: node.bucket,
                    sibling: node.sibling,
                    before: node.before,
                    after: node.after,
                }
            }
        }
    }

    #[inline(always)]
    fn set_before(&mut self, index: u32, before: u32) {
        match index & FURTHER {
            0 => self.tokens[index as usize].before = before,
            _ => self.further[(index ^ FURTHER) as usize].before = before,
        }
    }

    #[inline(always)]
    fn set_after(&mut self, index: u32, after: u32) {
        match index & FURTHER {
            0 => self.tokens[index as usize].after = after,
            _ => self.further[(index ^ FURTHER) as usize].after = after,
        }
    }
}

/// Reserves room for at least `more` further elements. A vector that has to grow grows by at least
/// an eighth of its length. Doubling would waste too much memory for millions of tokens.
pub(crate) fn reserve<T>(vector: &mut Vec<T>, more: usize) {
    if vector.capacity() - vector.len() < more {
        vector.reserve_exact(more.max(vector.len() / 8).max(64));
    }
}

/// The waiting tokens of a place that fit one input arc, in the order in which they are taken. If
/// the arc is joined with other arcs by equal fields, there is one bucket for each key. The key is
/// the values of these fields.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// The transition that takes tokens from the bucket. `searches` is true if any change of the
    /// bucket may change the transition's binding. It is false if only a change of the bucket's
    /// first token may change the binding.
    pub(crate) transition: u32,
    pub(crate) searches: bool,
    /// The group to which the bucket belongs: the buckets of one transition with the same key. NONE
    /// if the arc is not joined.
    pub(crate) group: u32,
    /// The membership (node) whose token is taken first, or NONE if the bucket is empty. For a
    /// place that takes tokens at random, it is an arbitrary membership of the bucket.
    head: u32,
    /// The last membership (node) of a linked list, or NONE.
    tail: u32,
    store: Store,
}

/// The memberships of a bucket, by number, as an array or a heap. Empty for a fifo or lifo bucket,
/// whose memberships form a linked list.
#[derive(Clone, Debug)]
#[allow(
    clippy::box_collection,
    reason = "a vector of three words would make every bucket larger"
)]
enum Store {
    Fifo,
    Lifo,
    Array(Box<Vec<u32>>),
    Heap(Box<Ranked>),
}

impl Bucket {
    pub(crate) fn new(view: &View, group: u32) -> Self {
        let store = match view.discipline {
            Discipline::Fifo => Store::Fifo,
            Discipline::Lifo => Store::Lifo,
            Discipline::Random => Store::Array(Box::default()),
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

    /// The membership (node) whose token is taken first, or NONE if the bucket is empty. For a
    /// place that takes tokens at random, it is an arbitrary membership of the bucket.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.head
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The membership after `node` in a bucket that is a linked list, or NONE.
    #[inline]
    pub(crate) fn after(&self, nodes: &Nodes, node: u32) -> u32 {
        nodes.member(node).after
    }

    /// Appends the memberships of a bucket that is a heap to `into`, in the order in which their
    /// tokens are taken. Appends nothing if the bucket is not a heap.
    pub(crate) fn sorted(&self, into: &mut Vec<u32>) {
        let Store::Heap(heap) = &self.store else {
            return;
        };
        let mut members = heap.members().to_vec();
        members.sort_unstable();
        into.extend(members.iter().map(|member| member.1));
    }

    /// The memberships of the tokens of a place whose discipline is "random", in arbitrary order;
    /// empty for another discipline.
    pub(crate) fn array(&self) -> &[u32] {
        match &self.store {
            Store::Array(array) => array,
            _ => &[],
        }
    }

    /// Adds a membership (node) to the bucket. Returns true if its token is now the first to be
    /// taken. `rank` computes the sort key; it is called only if the bucket is a heap.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        nodes: &mut Nodes,
        index: u32,
        rank: impl FnOnce() -> Rank,
    ) -> bool {
        if let Store::Fifo = self.store {
            // Nearly all buckets are fifo lists, so this case is tested first.
            nodes.set_before(index, self.tail);
            match self.tail {
                NONE => self.head = index,
                tail => nodes.set_after(tail, index),
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
                nodes.set_after(index, self.head);
                match self.head {
                    NONE => self.tail = index,
                    head => nodes.set_before(head, index),
                }
                self.head = index;
            }
            Store::Array(array) => {
                nodes.set_before(index, array.len() as u32);
                array.push(index);
                self.head = array[0];
            }
            Store::Heap(heap) => {
                heap.insert(rank, index, |node, at| nodes.set_before(node, at));
                self.head = heap.first().unwrap_or(NONE);
            }
        }
        self.head == index
    }

    /// Removes a membership (node) from the bucket. Returns true when its token was the first to be
    /// taken.
    #[inline(always)]
    pub(crate) fn remove(&mut self, nodes: &mut Nodes, index: u32, member: Member) -> bool {
        let was_first = self.head == index;
        let Member { before, after, .. } = member;
        match &mut self.store {
            Store::Fifo | Store::Lifo => {
                match before {
                    NONE => self.head = after,
                    before => nodes.set_after(before, after),
                }
                match after {
                    NONE => self.tail = before,
                    after => nodes.set_before(after, before),
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
                    nodes.set_before(moved, before);
                }
                self.head = array.first().copied().unwrap_or(NONE);
            }
            Store::Heap(heap) => {
                heap.remove(before, |node, at| nodes.set_before(node, at));
                self.head = heap.first().unwrap_or(NONE);
            }
        }
    }
}

/// The sort key of a token, smallest first: the value that the place's discipline compares, then
/// the arrival number.
#[inline]
pub(crate) fn rank_of(discipline: Discipline, row: &[u64], arrival: u64) -> Rank {
    match discipline {
        Discipline::Fifo | Discipline::Random => (0, arrival),
        Discipline::Lifo => (0, u64::MAX - arrival),
        Discipline::Least { field, kind } => (ordered(row[field as usize], kind), arrival),
    }
}

/// Maps a field's 64-bit value to an unsigned number. The order of the numbers is the order of the
/// values. NaN has the largest numbers.
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
