//! Assigns numbers to the shapes of call trees. A shape is the structure of a tree, without numbers
//! of repetitions and without durations.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::span::{TextId, Texts};

/// The number of a shape in a table of shapes.
pub type ShapeId = u32;

/// A table of distinct shapes. A shape is a name and the set of child shapes.
///
/// Since the child shapes are a set, siblings of one shape count once: three packets and three
/// hundred packets make the same shape. The order of siblings is ignored, too, because concurrency
/// changes it. Shapes are compared exactly, not by hash: the key of a shape is its name, followed
/// by the sorted numbers of the distinct child shapes.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    ids: HashMap<Box<[u32]>, ShapeId, Mixing>,
    keys: Vec<Box<[u32]>>,
    digests: Vec<u64>,
    /// For each name, the shape of calls with this name and without children, or `UNKNOWN`.
    leaves: Vec<ShapeId>,
    /// A cache of look-ups: for each name, the last look-up with a key of at most `RECENT_WORDS`
    /// words. An entry has the key (child shapes not sorted), the length of the key in words, and
    /// the shape that was found.
    recent: Vec<([u32; RECENT_WORDS], usize, ShapeId)>,
    /// Total number of words (name and child shapes) in all keys.
    words: usize,
}

const UNKNOWN: ShapeId = ShapeId::MAX;

/// Maximum number of shapes (`SHAPES_MAX`), and of words in all keys (`WORDS_MAX`). Beyond these
/// limits, the shape of a call is its name alone. Only forged or extremely varied trees exceed the
/// limits.
const SHAPES_MAX: usize = 1 << 17;
const WORDS_MAX: usize = 1 << 22;

/// Maximum length, in words, of keys for which the cache `recent` is used. Such a key is first
/// compared with the last key of the same name. If the two are equal, the new key need not be
/// sorted.
const RECENT_WORDS: usize = 8;

impl Shapes {
    /// Returns the shape of a call `name` with child calls. `children` has the shapes of the child
    /// calls, in any order and with repetitions. `scratch` is reused memory.
    pub fn intern(
        &mut self,
        name: TextId,
        children: impl Iterator<Item = ShapeId>,
        scratch: &mut Vec<u32>,
        texts: &Texts,
    ) -> ShapeId {
        scratch.clear();
        scratch.push(name);
        for child in children {
            // Runs of equal siblings are common, so repetitions are dropped before the sort.
            if scratch.len() == 1 || scratch.last() != Some(&child) {
                scratch.push(child);
            }
        }
        if scratch.len() == 1 {
            if let Some(leaf) = self.leaf(name) {
                return leaf;
            }
        }
        if scratch.len() > RECENT_WORDS {
            return self.find(scratch, texts);
        }
        if let Some((words, count, shape)) = self.recent.get(name as usize) {
            if words[..*count] == scratch[..] {
                return *shape;
            }
        }
        let (mut words, count) = ([0; RECENT_WORDS], scratch.len());
        words[..count].copy_from_slice(scratch);
        let shape = self.find(scratch, texts);
        let places = self.recent.len().max(name as usize + 1);
        self.recent.resize(places, ([0; RECENT_WORDS], 0, UNKNOWN));
        self.recent[name as usize] = (words, count, shape);
        shape
    }

    /// Returns the shape of a call with this name and without children. None if there was no such
    /// call yet.
    #[inline]
    pub fn leaf(&self, name: TextId) -> Option<ShapeId> {
        let known = self.leaves.get(name as usize).copied();
        known.filter(|&shape| shape != UNKNOWN)
    }

    /// Returns the shape whose key is `scratch`: a name followed by child shapes. Adds the shape if
    /// it is new.
    fn find(&mut self, scratch: &mut [u32], texts: &Texts) -> ShapeId {
        scratch[1..].sort_unstable();
        let mut distinct = 1 + distinct_in_sorted(&mut scratch[1..]);
        if let Some(&id) = self.ids.get(&scratch[..distinct]) {
            return id;
        }
        if self.keys.len() >= SHAPES_MAX || self.words + distinct > WORDS_MAX {
            distinct = 1;
            if let Some(&id) = self.ids.get(&scratch[..distinct]) {
                return id;
            }
        }
        let (key, name) = (&scratch[..distinct], scratch[0]);
        let id = ShapeId::try_from(self.keys.len()).expect("fewer than 2^32 shapes");
        if distinct == 1 {
            let places = self.leaves.len().max(name as usize + 1);
            self.leaves.resize(places, UNKNOWN);
            self.leaves[name as usize] = id;
        }
        self.words += distinct;
        self.digests.push(self.digest(key, texts));
        self.keys.push(key.into());
        self.ids.insert(key.into(), id);
        id
    }

    /// The name of the root of a shape.
    pub fn name(&self, shape: ShapeId) -> TextId {
        self.keys[shape as usize][0]
    }

    /// The distinct shapes of the children of a shape. Their numbers are smaller than the number of
    /// the shape.
    pub fn children(&self, shape: ShapeId) -> &[ShapeId] {
        &self.keys[shape as usize][1..]
    }

    /// A key for sorting shapes that depends only on names and structure. The order of shapes is
    /// therefore the same in every table, unlike the order of their numbers.
    pub fn order_key(&self, shape: ShapeId) -> u64 {
        self.digests[shape as usize]
    }

    /// Number of shapes in the table.
    pub fn count(&self) -> u32 {
        self.keys.len() as u32
    }

    fn digest(&self, key: &[u32], texts: &Texts) -> u64 {
        let name = digest_of(texts.text(key[0]));
        let mut below: Vec<u64> = key[1..]
            .iter()
            .map(|&child| self.order_key(child))
            .collect();
        below.sort_unstable();
        below.iter().fold(mix(name), |digest, &child| {
            mix(digest.rotate_left(5) ^ child)
        })
    }
}

/// Moves the distinct values of a sorted slice to its front. Returns their number.
fn distinct_in_sorted(values: &mut [u32]) -> usize {
    let mut distinct = 0;
    for index in 0..values.len() {
        if distinct == 0 || values[distinct - 1] != values[index] {
            values[distinct] = values[index];
            distinct += 1;
        }
    }
    distinct
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns the FNV-1a hash of a text, which is the same number on every machine.
pub fn digest_of(text: &str) -> u64 {
    text.bytes().fold(FNV_OFFSET, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    })
}

/// Mixes the bits of a number by the finaliser of SplitMix64, so that every bit of the input
/// affects every bit of the output.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A fast hash for numbers in hash maps. An adversary can create numbers with equal hashes. This is
/// acceptable, because this crate assigns the numbers of names, and forged trace ids only make a
/// window slow.
#[derive(Clone, Copy, Debug, Default)]
pub struct MixingHasher(u64);

/// Creates hashers of the type `MixingHasher`, for hash maps.
pub type Mixing = BuildHasherDefault<MixingHasher>;

impl Hasher for MixingHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0.rotate_left(5) ^ value);
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetition_and_order_of_siblings_do_not_change_a_shape() {
        let mut texts = Texts::default();
        let (packet, flush, block) = (
            texts.intern("packet"),
            texts.intern("flush"),
            texts.intern("block"),
        );
        let (mut shapes, mut scratch) = (Shapes::default(), Vec::new());
        let mut intern =
            |name, below: &[u32]| shapes.intern(name, below.iter().copied(), &mut scratch, &texts);
        let (packet, flush) = (intern(packet, &[]), intern(flush, &[]));
        let once = intern(block, &[packet, flush]);
        assert_eq!(once, intern(block, &[flush, packet, packet, flush, packet]));
        assert_ne!(once, intern(block, &[packet, packet]));
    }
}
