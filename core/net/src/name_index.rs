//! Finds the position of a name in a list of names, such as those of a net's places.

use std::hash::{DefaultHasher, Hasher};

/// An index that finds the position of a name in a list of names by the name's hash. The names stay
/// in the list, and every function gets them by a function from a position to a name. A net with
/// many places therefore needs no second copy of their names.
///
/// The table uses open addressing with linear probing, and at most half of its slots are used.
#[derive(Debug)]
pub(crate) struct NameIndex {
    /// The number of slots is a power of two.
    slots: Box<[Slot]>,
}

/// A slot is unused if its position is UNUSED.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The upper half of the name's hash. Names with different upper halves are not compared.
    tag: u32,
    position: u32,
}

const UNUSED: Slot = Slot {
    tag: 0,
    position: u32::MAX,
};

impl NameIndex {
    /// Indexes the names at the positions from 0 to `count` - 1. If two positions have the same
    /// name, the error is the later position of the first such pair.
    pub(crate) fn new<'n>(count: usize, name_at: impl Fn(usize) -> &'n str) -> Result<Self, usize> {
        let mut slots = vec![UNUSED; (2 * count).next_power_of_two()].into_boxed_slice();
        for position in 0..count {
            let name = name_at(position);
            let (tag, at) = probe(&slots, name, &name_at);
            if slots[at].position != UNUSED.position {
                return Err(position);
            }
            slots[at] = Slot {
                tag,
                position: position as u32,
            };
        }
        Ok(Self { slots })
    }

    /// The position of a name; None if the list does not contain the name.
    pub(crate) fn find<'n>(&self, name: &str, name_at: impl Fn(usize) -> &'n str) -> Option<usize> {
        let (_, at) = probe(&self.slots, name, name_at);
        let found = self.slots[at].position;
        (found != UNUSED.position).then_some(found as usize)
    }
}

/// Returns two numbers: the tag of a name, and the slot that has the name's position. If the name
/// is not indexed, the slot is the unused one that would get its position.
fn probe<'n>(slots: &[Slot], name: &str, name_at: impl Fn(usize) -> &'n str) -> (u32, usize) {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    let hash = hasher.finish();
    let (tag, mask) = ((hash >> 32) as u32, slots.len() - 1);
    let mut at = hash as usize & mask;
    loop {
        let slot = slots[at];
        let is_unused = slot.position == UNUSED.position;
        if is_unused || (slot.tag == tag && name_at(slot.position as usize) == name) {
            return (tag, at);
        }
        at = (at + 1) & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_at_its_position_and_no_other_name_is() {
        for count in [0, 1, 2, 3, 1000] {
            let names: Vec<String> = (0..count).map(|at| format!("queue{at}")).collect();
            let index = NameIndex::new(count, |at| &names[at]).expect("the names are unique");
            for (at, name) in names.iter().enumerate() {
                assert_eq!(index.find(name, |at| &names[at]), Some(at));
            }
            assert_eq!(index.find("queue", |at| &names[at]), None);
            assert_eq!(index.find("", |at| &names[at]), None);
        }
    }

    #[test]
    fn the_first_repeated_name_is_an_error() {
        let names = ["a", "b", "c", "b", "a"];
        assert_eq!(NameIndex::new(5, |at| names[at]).err(), Some(3));
        assert!(NameIndex::new(3, |at| names[at]).is_ok());
    }
}
