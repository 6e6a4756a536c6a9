//! For a span, finds the periods in which its calls on other logical threads run. A logical thread
//! is a sequence of calls that are disjoint or nested in time. The periods are needed to divide the
//! self time of the span into segments. Over all segments of a span, each call is visited only
//! once.

use super::steps;

/// A call, as (start, end, index of its span). Times are in nanoseconds.
pub type Call = (u64, u64, u32);

/// The calls that a span makes on other logical threads. The calls are queried for consecutive time
/// intervals.
pub struct Elsewhere {
    calls: Vec<Call>,
    next: usize,
    /// The visited call that ends last. If several calls end at this time, it is the call that was
    /// visited first.
    last: Option<Call>,
}

impl Elsewhere {
    /// Takes the calls in any order. Calls that begin at the same time keep their order.
    pub fn of(mut calls: Vec<Call>) -> Self {
        calls.sort_by_key(|call| call.0);
        Self {
            calls,
            next: 0,
            last: None,
        }
    }

    /// Returns periods in which at least one call on another logical thread runs, as (start, end,
    /// index of the span that ends last). These are the periods that overlap the interval from
    /// `start_ns` to `end_ns`. A period is cut at `start_ns`, but may end after `end_ns`.
    ///
    /// Successive calls of this function must have intervals that are in order of time and do not
    /// overlap.
    pub fn within(&mut self, start_ns: u64, end_ns: u64) -> Vec<Call> {
        while self.peek().is_some_and(|call| call.0 <= start_ns) {
            self.meet();
        }
        let mut found: Vec<Call> = Vec::new();
        if start_ns >= end_ns {
            return found;
        }
        // Calls that began before the interval and still run form a period from the interval's
        // start.
        let running = self.last.filter(|call| call.1 > start_ns);
        found.extend(running.map(|(_, to_ns, span)| (start_ns, to_ns, span)));
        while self.peek().is_some_and(|call| call.0 < end_ns) {
            let (from_ns, to_ns, span) = self.meet();
            match found.last_mut() {
                Some(whole) if from_ns <= whole.1 => {
                    if to_ns > whole.1 {
                        (whole.1, whole.2) = (to_ns, span);
                    }
                }
                _ => found.push((from_ns, to_ns, span)),
            }
        }
        found
    }

    fn peek(&self) -> Option<&Call> {
        self.calls.get(self.next)
    }

    fn meet(&mut self) -> Call {
        steps::take(1);
        let call = self.calls[self.next];
        self.next += 1;
        if self.last.is_none_or(|last| call.1 > last.1) {
            self.last = Some(call);
        }
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finds the periods naively, by checking every call for every interval. The tests compare
    /// `Elsewhere::within` with this function.
    fn plain(calls: &[Call], (start_ns, end_ns): (u64, u64)) -> Vec<Call> {
        let mut found: Vec<Call> = Vec::new();
        for &(from_ns, to_ns, span) in calls {
            let from_ns = from_ns.max(start_ns);
            if from_ns >= end_ns || to_ns <= start_ns {
                continue;
            }
            match found.last_mut() {
                Some(whole) if from_ns <= whole.1 => {
                    if to_ns > whole.1 {
                        (whole.1, whole.2) = (to_ns, span);
                    }
                }
                _ => found.push((from_ns, to_ns, span)),
            }
        }
        found
    }

    proptest! {
        #[test]
        fn every_stretch_is_that_of_the_plain_look(
            rows in prop::collection::vec((0..40u64, 0..25u64), 0..30),
            mut bounds in prop::collection::vec(0..60u64, 0..20),
        ) {
            let call = |(span, &(at, took)): (u32, &(u64, u64))| (at, at + took, span);
            let mut calls: Vec<Call> = (0u32..).zip(&rows).map(call).collect();
            let mut elsewhere = Elsewhere::of(calls.clone());
            calls.sort_by_key(|call| call.0);
            bounds.sort_unstable();
            for pair in bounds.chunks_exact(2) {
                let found = elsewhere.within(pair[0], pair[1]);
                prop_assert_eq!(found, plain(&calls, (pair[0], pair[1])));
            }
        }
    }
}
