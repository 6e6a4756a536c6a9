//! Groups: the buckets of one transition whose tokens have the same value of the joined fields (the
//! key), and how the group of a key is found.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::compiled::{CompiledNet, Discipline, Key, Transition};
use crate::marking::ranked::Ranked;

/// Limit below which values of a joined field are looked up in a table; other values are looked up
/// by hash. `direct_limits` returns a higher limit for some transitions.
const DIRECT_KEYS: u64 = 1_024;

/// Largest total size, in words, of all tables that have more than `DIRECT_KEYS` entries.
const DIRECT_WORDS_MAX: u64 = 1 << 22;

/// For each transition, the limit below which values of its joined field are looked up in a table.
/// A table suits values that occur in initial tokens, such as numbers of clients and servers, since
/// they are dense and recur. Values that a run counts up, such as numbers of jobs, would make a
/// table grow without bound.
pub(crate) fn direct_limits(net: &CompiledNet) -> Vec<u64> {
    let mut known: HashMap<(u32, u16), u64> = HashMap::new();
    let mut words = 0;
    let mut limit = |transition: &Transition| {
        let mut most = DIRECT_KEYS;
        for &arc in &transition.joined {
            let input = &transition.inputs[arc as usize];
            if let &[field] = &net.views[input.view as usize].keys[..] {
                let dense = known.entry((input.place, field));
                most = most.max(*dense.or_insert_with(|| dense_end(net, input.place, field)));
            }
        }
        let tables = most * transition.joined.len() as u64;
        if most > DIRECT_KEYS && words + tables > DIRECT_WORDS_MAX {
            return DIRECT_KEYS;
        }
        words += if most > DIRECT_KEYS { tables } else { 0 };
        most
    };
    net.transitions.iter().map(&mut limit).collect()
}

/// One more than the largest value of a field in the initial tokens of a place. If this is more
/// than four times the number of these tokens, 0.
fn dense_end(net: &CompiledNet, place: u32, field: u16) -> u64 {
    let rows = &net.places[place as usize].initial;
    let values = rows.iter().map(|row| row[usize::from(field)]);
    let end = values.max().map_or(0, |largest| largest.saturating_add(1));
    match end <= 4 * rows.len() as u64 {
        true => end,
        false => 0,
    }
}

/// A group: the buckets of one transition whose tokens have the same value of the joined fields
/// (the key).
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) transition: u32,
    pub(super) first_bucket: u32,
    /// The bucket whose first token determines the rank of this group among the ready groups.
    pub(super) lead_bucket: u32,
    pub(super) lead_discipline: Discipline,
    /// Number of the group's buckets that have tokens. `missing` is the number of its empty
    /// buckets. When `missing` is zero, the group is ready and the transition can fire.
    pub(super) filled: u32,
    pub(super) missing: u32,
    /// Position of this group in the heap of ready groups, or NONE if a bucket is empty.
    pub(super) position: u32,
    /// Whether the group is found by hash. Such a group is removed when it is empty. Otherwise the
    /// hash table would grow with every new key, such as the number of a job.
    pub(super) hashed: bool,
}

/// The numbers of the groups of one transition. `by_key` has the groups that are found by hash.
/// `ready` has the groups whose buckets all have tokens. `free` has the numbers that can be reused.
#[derive(Debug, Default)]
pub(super) struct Join {
    pub(super) by_key: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    pub(super) ready: Ranked,
    pub(super) free: Vec<u32>,
}

/// A fast hash by multiplication and rotation. Keys have few words and come from the net itself, so
/// the hash needs no protection from an adversary.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, length: usize) {
        self.write_u64(length as u64);
    }
}
