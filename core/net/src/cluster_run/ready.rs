//! The list of cells with which a transition can fire, ordered by the arrival of their tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A cell with which a transition can fire, as three numbers: the arrival number of the cell's
/// token for the first input arc, the number of the cell, and the arrival number of the last token
/// of the binding when the entry was made.
pub(super) type Entry = (u64, u32, u64);

/// Largest number of entries that are kept in one sorted array.
const NEAR_MAX: usize = 16;

/// Entries of which the smallest is removed first. Most lists are short, such as the idle servers
/// of a small station, so the smallest entries are in a short sorted array. The others are in a
/// heap.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// The smallest entries in descending order, so that the smallest is the last.
    near: Vec<Entry>,
    /// Entries that are not smaller than any in `near`.
    far: BinaryHeap<Reverse<Entry>>,
}

impl Ready {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.near.is_empty() && self.far.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.near.len() + self.far.len()
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: Entry) {
        let is_far = match self.near.first() {
            Some(largest) => entry > *largest,
            None => true,
        };
        if is_far && !self.far.is_empty() {
            self.far.push(Reverse(entry));
            return;
        }
        self.near.push(entry);
        let mut at = self.near.len() - 1;
        while at > 0 && self.near[at - 1] < entry {
            self.near[at] = self.near[at - 1];
            at -= 1;
        }
        self.near[at] = entry;
        if self.near.len() > NEAR_MAX {
            self.move_far();
        }
    }

    /// Removes and returns the smallest entry.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        match self.near.pop() {
            Some(entry) => Some(entry),
            None => self.pop_far(),
        }
    }

    #[inline(never)]
    fn pop_far(&mut self) -> Option<Entry> {
        self.far.pop().map(|Reverse(entry)| entry)
    }

    /// Moves the larger half of the sorted array to the heap.
    #[inline(never)]
    fn move_far(&mut self) {
        let larger = self.near.drain(..NEAR_MAX / 2);
        self.far.extend(larger.map(Reverse));
    }

    /// Removes the entries for which `is_valid` returns false, and entries that occur twice.
    #[cold]
    pub(super) fn retain(&mut self, mut is_valid: impl FnMut(&Entry) -> bool) {
        let near = std::mem::take(&mut self.near).into_iter();
        let far = std::mem::take(&mut self.far).into_vec();
        let mut entries: Vec<Entry> = near.chain(far.into_iter().map(|one| one.0)).collect();
        entries.sort_unstable();
        entries.dedup();
        entries.retain(|entry| is_valid(entry));
        self.far = entries.into_iter().map(Reverse).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn pops_the_smallest_entry_of_few_and_of_many() {
        let mut stream = Stream::new(7, 0, 0);
        for most in [1, 5, NEAR_MAX, NEAR_MAX + 1, 500] {
            let mut ready = Ready::default();
            let mut wanted: Vec<Entry> = Vec::new();
            for step in 0..4_000u64 {
                if wanted.len() < most && stream.below(2) == 0 {
                    let entry = (stream.below(900) as u64, step as u32, step);
                    ready.push(entry);
                    wanted.push(entry);
                } else {
                    wanted.sort_unstable();
                    let smallest = (!wanted.is_empty()).then(|| wanted.remove(0));
                    assert_eq!(ready.pop(), smallest);
                }
                assert_eq!(
                    (ready.len(), ready.is_empty()),
                    (wanted.len(), wanted.is_empty())
                );
            }
            wanted.retain(|entry| entry.0 % 2 == 0);
            wanted.sort_unstable();
            ready.retain(|entry| entry.0 % 2 == 0);
            let left: Vec<Entry> = std::iter::from_fn(|| ready.pop()).collect();
            assert_eq!(left, wanted);
        }
    }
}
