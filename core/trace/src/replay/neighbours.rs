//! The graph of which logical threads (lanes) of a call tree call each other, and distances in that
//! graph.

use std::collections::{HashMap, HashSet, VecDeque};

use super::steps;

/// Largest distance between two lanes at which one may depend on the other.
const DISTANCE_MAX: u32 = 6;

/// The lanes that are adjacent to each lane, as ranges of one list.
#[derive(Default)]
pub struct Neighbours {
    ranges: HashMap<u32, (u32, u32)>,
    lanes: Vec<u32>,
}

impl Neighbours {
    /// Lists the neighbours of each lane. `calls` has pairs of a calling and a called lane. A lane
    /// with a single neighbour leads to no other lane, so it is omitted from that neighbour's list.
    /// The lanes in `requested` are never omitted, since distances to them are needed.
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
            let first = found.lanes.len() as u32;
            let others = pairs.iter().map(|pair| pair.1);
            found
                .lanes
                .extend(others.filter(|lane| !ends.contains(lane)));
            let range = (first, found.lanes.len() as u32);
            found.ranges.insert(pairs[0].0, range);
        }
        found
    }

    fn of_lane(&self, lane: u32) -> &[u32] {
        let (first, end) = self.ranges.get(&lane).copied().unwrap_or_default();
        &self.lanes[first as usize..end as usize]
    }

    /// Returns the distance from a lane to each lane within `DISTANCE_MAX`.
    pub fn distances(&self, from: u32) -> HashMap<u32, u32> {
        let mut far = HashMap::from([(from, 0)]);
        let mut open = VecDeque::from([from]);
        while let Some(lane) = open.pop_front() {
            let distance = far[&lane];
            if distance == DISTANCE_MAX {
                continue;
            }
            let others = self.of_lane(lane);
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

    /// Computes the distances by their definition: every call is checked from every lane.
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

    /// Random calls between lanes: mostly a tree of lanes, with some calls back.
    fn calls() -> impl Strategy<Value = Vec<(u32, u32)>> {
        let one = (any::<prop::sample::Index>(), any::<bool>(), 0..40u32);
        prop::collection::vec(one, 1..60).prop_map(|rows| {
            let call =
                |(lane, (above, back, other)): (usize, &(prop::sample::Index, bool, u32))| {
                    let lane = lane as u32 + 1;
                    let tree = (above.index(lane as usize) as u32, lane);
                    [
                        Some(tree),
                        (*back && *other != lane).then_some((lane, *other)),
                    ]
                };
            rows.iter().enumerate().flat_map(call).flatten().collect()
        })
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_plain_walk(calls in calls(), requested in 1..9u32) {
            let is_requested = |lane: &u32| lane.is_multiple_of(requested);
            let lanes: HashSet<u32> = (0..70).filter(is_requested).collect();
            let neighbours = Neighbours::of(&calls, &lanes);
            for from in 0..70 {
                let (mut found, mut plain) = (neighbours.distances(from), plain(&calls, from));
                found.retain(|lane, _| lanes.contains(lane));
                plain.retain(|lane, _| lanes.contains(lane));
                prop_assert_eq!(found, plain);
            }
        }
    }
}
