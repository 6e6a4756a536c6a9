//! Assigns calls whose thread is unknown to logical threads (lanes): each call is assigned to the
//! lane with the lowest number that is free at its start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::steps;

/// The free lanes by number, and the busy lanes by the time at which they become free.
#[derive(Default)]
pub struct Rows {
    free: BinaryHeap<Reverse<u32>>,
    busy: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Rows {
    /// Returns the free lane with the lowest number at the time `start_ns`; None if all are busy.
    /// The times of consecutive calls must not decrease.
    pub fn free_at(&mut self, start_ns: u64) -> Option<u32> {
        steps::take(1);
        while let Some(&Reverse((until_ns, lane))) = self.busy.peek() {
            if until_ns > start_ns {
                break;
            }
            steps::take(1);
            self.busy.pop();
            self.free.push(Reverse(lane));
        }
        self.free.pop().map(|Reverse(lane)| lane)
    }

    /// Marks a lane as busy until `until_ns`.
    pub fn take(&mut self, lane: u32, until_ns: u64) {
        self.busy.push(Reverse((until_ns, lane)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lane_is_the_first_of_a_list_that_is_free(
            mut calls in prop::collection::vec((0..40u64, 0..30u64), 0..60),
        ) {
            calls.sort_by_key(|call| call.0);
            let (mut rows, mut busy_until): (_, Vec<u64>) = (Rows::default(), Vec::new());
            for (start_ns, took_ns) in calls {
                let first = busy_until.iter().position(|&until_ns| until_ns <= start_ns);
                let found = rows.free_at(start_ns);
                prop_assert_eq!(found, first.map(|place| place as u32));
                let lane = first.unwrap_or_else(|| {
                    busy_until.push(0);
                    busy_until.len() - 1
                });
                busy_until[lane] = start_ns + took_ns;
                rows.take(lane as u32, start_ns + took_ns);
            }
        }
    }
}
