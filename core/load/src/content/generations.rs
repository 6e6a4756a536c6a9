//! Records which overwrite produced each byte of a file. The number of an overwrite is its
//! generation. A file's first overwrite has number 1; bytes that have not been overwritten since
//! the creation of the file have number 0.

use std::collections::BTreeMap;

/// The value that is stored, instead of the number of an overwrite, for bytes that a failed write
/// may or may not have changed.
pub const UNKNOWN: u32 = u32::MAX;

/// The overwrites of one file. A range begins at its key and ends where the next range begins. Its
/// value is the number of the overwrite that wrote the range. Bytes before the first range have
/// number 0, since they are as created.
#[derive(Default)]
pub struct Generations(BTreeMap<u64, u32>);

impl Generations {
    fn at(&self, place: u64) -> u32 {
        let before = self.0.range(..=place).next_back();
        before.map_or(0, |(_, generation)| *generation)
    }

    /// Records that overwrite number `generation` wrote the bytes [from, to).
    pub fn wrote(&mut self, from: u64, to: u64, generation: u32) {
        if from >= to {
            return;
        }
        let after = self.at(to);
        let covered: Vec<u64> = self.0.range(from..to).map(|(start, _)| *start).collect();
        for start in covered {
            self.0.remove(&start);
        }
        self.0.insert(from, generation);
        self.0.insert(to, after);
    }

    /// Returns the ranges (from, to, number of the overwrite) that cover the bytes in [from, to).
    pub fn stretches(&self, from: u64, to: u64) -> Vec<(u64, u64, u32)> {
        let mut found = Vec::new();
        let (mut start, mut generation) = (from, self.at(from));
        for (next, of) in self.0.range(from..to) {
            if *next > start {
                found.push((start, *next, generation));
            }
            (start, generation) = (*next, *of);
        }
        found.push((start, to, generation));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dfslab_workload::draw;

    #[test]
    fn stretches_are_what_an_array_of_bytes_says() {
        for seed in 0..200 {
            let (mut plain, mut known) = ([0u32; 64], Generations::default());
            for turn in 1..20 {
                let drawn = |purpose| draw(seed, u64::from(turn), 0, purpose) % 65;
                let (from, to) = (drawn(1).min(drawn(2)), drawn(1).max(drawn(2)));
                plain[from as usize..to as usize].fill(turn);
                known.wrote(from, to, turn);
                let (from, to) = (drawn(3).min(drawn(4)), drawn(3).max(drawn(4)));
                let ranges = known.stretches(from, to);
                assert_eq!(
                    (ranges[0].0, ranges[ranges.len() - 1].1),
                    (from, to),
                    "seed {seed}"
                );
                for (start, end, generation) in ranges {
                    let observed = &plain[start as usize..end as usize];
                    assert!(observed.iter().all(|one| *one == generation), "seed {seed}");
                }
            }
        }
    }
}
