//! Pending events that are not among the next ones, in buckets by their times.

use super::event::Event;
use super::event_heap::EventHeap;

/// Largest number of buckets.
const BUCKETS_MAX: usize = 4096;

/// Largest ratio of the time that all buckets span to the mean time until an event. The ratio is at
/// least half of this number, so at least three quarters of the events have a bucket.
const SPAN: u64 = 8;

/// Events that are later than those of a heap, so that the heap stays small. Each bucket has the
/// events of an equal part of time, in arbitrary order. A bucket moves to the heap when all earlier
/// events were removed.
#[derive(Debug)]
pub(super) struct LaterEvents {
    /// The start of the first bucket, in nanoseconds. A bucket lasts two to the power of `shift`.
    start_ns: u64,
    shift: u32,
    /// Number of buckets that moved to the heap. The events here are later than those.
    moved: usize,
    buckets: Vec<Vec<Event>>,
    /// The events after the last bucket.
    far: Vec<Event>,
    len: usize,
}

impl LaterEvents {
    pub(super) fn new() -> Self {
        Self {
            start_ns: 0,
            shift: 0,
            moved: 0,
            buckets: Vec::new(),
            far: Vec::new(),
            len: 0,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All events, in arbitrary order.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let in_buckets = self.buckets.iter().flatten();
        in_buckets.chain(&self.far).copied()
    }

    /// All events, in arbitrary order. A change must not change the order of the events.
    pub(super) fn events_mut(&mut self) -> impl Iterator<Item = &mut Event> {
        self.buckets.iter_mut().flatten().chain(&mut self.far)
    }

    /// Adds an event. Returns false, and changes nothing, if the event belongs to the heap. This is
    /// so if no event is here, or if the bucket of the event has moved.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) -> bool {
        let at = event.time_ns().saturating_sub(self.start_ns) >> self.shift;
        if self.len == 0 || at < self.moved as u64 {
            return false;
        }
        self.len += 1;
        match self.buckets.get_mut(at as usize) {
            Some(bucket) => bucket.push(event),
            None => self.far.push(event),
        }
        true
    }

    /// Takes over all events of a heap, which is then empty.
    pub(super) fn take_over(&mut self, heap: &mut EventHeap) {
        self.far.extend(heap.events());
        self.len += heap.len();
        *heap = EventHeap::new();
        self.divide();
    }

    /// Moves the events of the next bucket that has some to the heap. Does nothing if no event is
    /// here.
    pub(super) fn move_next(&mut self, heap: &mut EventHeap) {
        while self.len > 0 {
            if self.moved == self.buckets.len() {
                self.divide();
            }
            let bucket = &mut self.buckets[self.moved];
            self.moved += 1;
            if !bucket.is_empty() {
                self.len -= bucket.len();
                bucket.drain(..).for_each(|event| heap.push(event));
                return;
            }
        }
    }

    /// Moves all events to the heap.
    pub(super) fn move_all(&mut self, heap: &mut EventHeap) {
        self.events().for_each(|event| heap.push(event));
        *self = Self::new();
    }

    /// Divides the far events into buckets. All buckets are empty before.
    fn divide(&mut self) {
        let far = std::mem::take(&mut self.far);
        let times = far.iter().map(|event| event.time_ns());
        self.start_ns = times.clone().min().unwrap_or(0);
        let waits = times.map(|time_ns| u128::from(time_ns - self.start_ns));
        let mean_ns = (waits.sum::<u128>() / far.len().max(1) as u128) as u64;
        let count = far.len().next_power_of_two().min(BUCKETS_MAX);
        self.shift = (mean_ns.saturating_mul(SPAN) / count as u64).max(1).ilog2();
        self.moved = 0;
        self.buckets.resize_with(count, Vec::new);
        for event in far {
            let at = (event.time_ns() - self.start_ns) >> self.shift;
            match self.buckets.get_mut(at as usize) {
                Some(bucket) => bucket.push(event),
                None => self.far.push(event),
            }
        }
    }
}
