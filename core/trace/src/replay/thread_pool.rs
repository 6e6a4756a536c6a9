//! Assigns calls whose thread is unknown to logical threads. The calls of one logical thread are
//! disjoint or nested in time. If several logical threads are free at the start of a call, the call
//! is assigned to the free logical thread with the lowest number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::steps;

/// The free logical threads by number, and the busy logical threads by the time at which they
/// become free.
#[derive(Default)]
pub struct ThreadPool {
    free: BinaryHeap<Reverse<u32>>,
    busy: BinaryHeap<Reverse<(u64, u32)>>,
}

impl ThreadPool {
    /// Returns the free logical thread with the lowest number at the time `start_ns`; None if all
    /// are busy. `start_ns` must not be smaller than in the previous call of this function.
    pub fn free_at(&mut self, start_ns: u64) -> Option<u32> {
        steps::take(1);
        while let Some(&Reverse((until_ns, thread))) = self.busy.peek() {
            if until_ns > start_ns {
                break;
            }
            steps::take(1);
            self.busy.pop();
            self.free.push(Reverse(thread));
        }
        self.free.pop().map(|Reverse(thread)| thread)
    }

    /// Marks a logical thread as busy until `until_ns`.
    pub fn take(&mut self, thread: u32, until_ns: u64) {
        self.busy.push(Reverse((until_ns, thread)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_thread_is_the_first_of_a_list_that_is_free(
            mut calls in prop::collection::vec((0..40u64, 0..30u64), 0..60),
        ) {
            calls.sort_by_key(|call| call.0);
            let (mut pool, mut busy_until): (_, Vec<u64>) = (ThreadPool::default(), Vec::new());
            for (start_ns, took_ns) in calls {
                let first = busy_until.iter().position(|&until_ns| until_ns <= start_ns);
                let found = pool.free_at(start_ns);
                prop_assert_eq!(found, first.map(|place| place as u32));
                let thread = first.unwrap_or_else(|| {
                    busy_until.push(0);
                    busy_until.len() - 1
                });
                busy_until[thread] = start_ns + took_ns;
                pool.take(thread as u32, start_ns + took_ns);
            }
        }
    }
}
