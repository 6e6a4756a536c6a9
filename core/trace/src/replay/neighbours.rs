//! The graph of the logical threads of a call tree, and the distances in it. Each logical thread is
//! a node; its calls are disjoint or nested in time. Two logical threads are adjacent if one calls
//! the other.

use std::collections::{HashMap, HashSet, VecDeque};

use super::steps;

/// Largest distance between two logical threads for which a dependency between them is considered.
const DISTANCE_MAX: u32 = 6;

/// The logical threads that are adjacent to each logical thread, as ranges of one list.
#[derive(Default)]
pub struct Neighbours {
    ranges: HashMap<u32, (u32, u32)>,
    threads: Vec<u32>,
}

impl Neighbours {
    /// Lists the neighbours of each logical thread. `calls` has pairs of a calling and a called
    /// logical thread.
    ///
    /// A logical thread with a single neighbour is a dead end: no path to another thread leads
    /// through it. Such a thread is therefore left out of its neighbour's list. The logical threads
    /// in `requested` are never left out, since the distances to them are needed.
    pub fn of(calls: &[(u32, u32)], requested: &HashSet<u32>) -> Self {
        let both_ways = |&(left, right): &(u32, u32)| [(left, right), (right, left)];
        let mut pairs: Vec<(u32, u32)> = calls.iter().flat_map(both_ways).collect();
        pairs.sort_unstable();
        pairs.dedup();
        steps::take(pairs.len());
        let of_one = |left: &(u32, u32), right: &(u32, u32)| left.0 == right.0;
        let ends: HashSet<u32> = pairs
            .chunk_by(of_one)
            .filter(|pairs| pairs.len() == 1 && !requested.contains(&pairs[0].0))
            .map(|pairs| pairs[0].0)
            .collect();
        let mut found = Self::default();
        for pairs in pairs.chunk_by(of_one) {
            let first = found.threads.len() as u32;
            let others = pairs.iter().map(|pair| pair.1);
            found
                .threads
                .extend(others.filter(|thread| !ends.contains(thread)));
            let range = (first, found.threads.len() as u32);
            found.ranges.insert(pairs[0].0, range);
        }
        found
    }

    fn of_thread(&self, thread: u32) -> &[u32] {
        let (first, end) = self.ranges.get(&thread).copied().unwrap_or_default();
        &self.threads[first as usize..end as usize]
    }

    /// Returns the distance from a logical thread to each logical thread within `DISTANCE_MAX`.
    pub fn distances(&self, from: u32) -> HashMap<u32, u32> {
        let mut far = HashMap::from([(from, 0)]);
        let mut open = VecDeque::from([from]);
        while let Some(thread) = open.pop_front() {
            let distance = far[&thread];
            if distance == DISTANCE_MAX {
                continue;
            }
            let others = self.of_thread(thread);
            steps::take(1 + others.len());
            for &next in others {
                far.entry(next).or_insert_with(|| {
                    open.push_back(next);
                    distance + 1
                });
            }
        }
        far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the distances by their definition, in rounds. In each round, the neighbours of the
    /// threads found so far get a distance that is larger by one.
    fn plain(calls: &[(u32, u32)], from: u32) -> HashMap<u32, u32> {
        let mut far = HashMap::from([(from, 0)]);
        for distance in 1..=DISTANCE_MAX {
            let reached: Vec<u32> = far.keys().copied().collect();
            for &(left, right) in calls {
                for (here, there) in [(left, right), (right, left)] {
                    if reached.contains(&here) {
                        far.entry(there).or_insert(distance);
                    }
                }
            }
        }
        far
    }

    /// Random calls between logical threads: each thread is called by one earlier thread, and some
    /// threads also call a random thread.
    fn calls() -> impl Strategy<Value = Vec<(u32, u32)>> {
        let one = (any::<prop::sample::Index>(), any::<bool>(), 0..40u32);
        prop::collection::vec(one, 1..60).prop_map(|rows| {
            let call =
                |(thread, (above, back, other)): (usize, &(prop::sample::Index, bool, u32))| {
                    let thread = thread as u32 + 1;
                    let tree = (above.index(thread as usize) as u32, thread);
                    [
                        Some(tree),
                        (*back && *other != thread).then_some((thread, *other)),
                    ]
                };
            rows.iter().enumerate().flat_map(call).flatten().collect()
        })
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_plain_walk(calls in calls(), requested in 1..9u32) {
            let is_requested = |thread: &u32| thread.is_multiple_of(requested);
            let threads: HashSet<u32> = (0..70).filter(is_requested).collect();
            let neighbours = Neighbours::of(&calls, &threads);
            for from in 0..70 {
                let (mut found, mut plain) = (neighbours.distances(from), plain(&calls, from));
                found.retain(|thread, _| threads.contains(thread));
                plain.retain(|thread, _| threads.contains(thread));
                prop_assert_eq!(found, plain);
            }
        }
    }
}
