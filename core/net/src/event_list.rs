//! The event list holds the tokens in transit, ordered by time, then by order of creation. Each
//! event is a linked list of tokens. Events wait in queues or in a heap with four children per
//! node.

use crate::bucket::reserve;

/// An event: tokens of one firing that become available at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time_ns: u64,
    /// Number of the event in order of creation. It orders events of the same time.
    pub(crate) sequence: u64,
    /// The first token of the event's linked list of tokens.
    pub(crate) first_token: u32,
}

/// Largest number of lines of an event list. Each pop looks at the first event of each line.
pub(crate) const LINES_MAX: usize = 4;

/// The line number of an event that goes to the heap.
pub(crate) const NO_LINE: u8 = u8::MAX;

/// Pending events, earliest first. Events with the same constant delay are scheduled in the order
/// of their times, so they wait in a line: a first-in first-out queue, in which an event costs the
/// same however many events are pending. All other events wait in a heap. With four children per
/// node the heap has half the levels of a binary heap, and siblings share cache lines (measured:
/// twice the rate of a binary heap below 500 events).
#[derive(Debug)]
pub(crate) struct EventList {
    heap: Vec<Event>,
    lines: Vec<Line>,
    /// The sort key of the earliest event; the largest number if no event is pending.
    next: u128,
    /// Number of the line that holds the earliest event; `NO_LINE` if the heap holds that event.
    next_line: u8,
}

const CHILDREN: usize = 4;

/// A first-in first-out queue of events. Removed events stay in the array until they are more than
/// half of it, so that no operation computes a position.
#[derive(Clone, Debug, Default)]
struct Line {
    events: Vec<Event>,
    /// Number of events at the start of `events` that were removed already.
    removed: usize,
}

impl Line {
    #[inline(always)]
    fn first(&self) -> Option<&Event> {
        self.events.get(self.removed)
    }

    #[inline(always)]
    fn push(&mut self, event: Event) {
        if self.events.len() == self.events.capacity() {
            self.make_room();
        }
        self.events.push(event);
    }

    /// Frees the storage of removed events if these are more than half of all events. Otherwise
    /// reserves storage for more events.
    #[inline(never)]
    fn make_room(&mut self) {
        if 2 * self.removed > self.events.len() {
            self.events.drain(..self.removed);
            self.removed = 0;
        } else {
            reserve(&mut self.events, 1);
        }
    }

    /// Removes and returns the first event.
    #[inline(always)]
    fn pop(&mut self) -> Option<Event> {
        let first = self.first().copied();
        self.removed += usize::from(first.is_some());
        first
    }

    fn pending(&self) -> &[Event] {
        &self.events[self.removed..]
    }
}

impl Event {
    #[inline]
    fn before(&self, other: &Event) -> bool {
        self.order() < other.order()
    }

    /// Time and order of creation packed into one number, so that one comparison without a branch
    /// orders two events.
    #[inline]
    fn order(&self) -> u128 {
        (u128::from(self.time_ns) << 64) | u128::from(self.sequence)
    }
}

impl EventList {
    /// An event list without events, with this number of lines.
    pub(crate) fn new(lines: usize) -> Self {
        Self {
            heap: Vec::new(),
            lines: vec![Line::default(); lines],
            next: u128::MAX,
            next_line: NO_LINE,
        }
    }

    #[inline(always)]
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        (self.next != u128::MAX).then_some((self.next >> 64) as u64)
    }

    /// All pending events, in arbitrary order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Event> {
        self.heap
            .iter()
            .chain(self.lines.iter().flat_map(Line::pending))
    }

    /// Adds an event to a line. The event goes to the heap instead if there is no such line, or if
    /// the line already holds a later event.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event, line: u8) {
        let order = event.order();
        let queue = self.lines.get_mut(usize::from(line));
        // If all events of the line were removed, the last of them is not later than any new event.
        let in_order = |queue: &&mut Line| match queue.events.last() {
            Some(last) => last.time_ns <= event.time_ns,
            None => true,
        };
        let held_by = match queue.filter(in_order) {
            Some(queue) => {
                queue.push(event);
                line
            }
            None => {
                self.push_to_heap(event);
                NO_LINE
            }
        };
        if order < self.next {
            (self.next, self.next_line) = (order, held_by);
        }
    }

    /// Removes and returns the earliest event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let found = match self.lines.get_mut(usize::from(self.next_line)) {
            Some(line) => line.pop(),
            None => self.pop_from_heap(),
        };
        let first = self.heap.first().map_or(u128::MAX, Event::order);
        (self.next, self.next_line) = (first, NO_LINE);
        for (number, line) in (0u8..).zip(&self.lines) {
            let order = line.first().map_or(u128::MAX, Event::order);
            if order < self.next {
                (self.next, self.next_line) = (order, number);
            }
        }
        found
    }

    #[inline(always)]
    fn push_to_heap(&mut self, event: Event) {
        reserve(&mut self.heap, 1);
        self.heap.push(event);
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if !event.before(&self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = event;
    }

    #[inline(always)]
    fn pop_from_heap(&mut self) -> Option<Event> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else {
            return Some(last);
        };
        let length = self.heap.len();
        let mut at = 0;
        loop {
            let child = at * CHILDREN + 1;
            if child >= length {
                break;
            }
            let siblings = &self.heap[child..length.min(child + CHILDREN)];
            let mut least = 0;
            for (index, sibling) in siblings.iter().enumerate().skip(1) {
                if sibling.before(&siblings[least]) {
                    least = index;
                }
            }
            if !siblings[least].before(&last) {
                break;
            }
            self.heap[at] = siblings[least];
            at = child + least;
        }
        self.heap[at] = last;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn pops_in_order_of_time_and_making() {
        let mut stream = Stream::new(5, 0, 0);
        let mut list = EventList::new(2);
        let mut wanted = Vec::new();
        for sequence in 0..5_000u64 {
            let time_ns = stream.below(300) as u64;
            let event = Event {
                time_ns,
                sequence,
                first_token: 0,
            };
            // No line has the number 2, so such an event goes to the heap.
            list.push(event, stream.below(3) as u8);
            wanted.push((time_ns, sequence));
            if stream.below(3) == 0 {
                wanted.sort_unstable();
                let (time_ns, sequence) = wanted.remove(0);
                assert_eq!(list.next_time_ns(), Some(time_ns));
                let event = list.pop().expect("as many as were pushed");
                assert_eq!((event.time_ns, event.sequence), (time_ns, sequence));
            }
        }
        wanted.sort_unstable();
        assert_eq!(list.pending().count(), wanted.len());
        for (time_ns, sequence) in wanted {
            assert_eq!(list.next_time_ns(), Some(time_ns));
            let event = list.pop().expect("as many as were pushed");
            assert_eq!((event.time_ns, event.sequence), (time_ns, sequence));
        }
        assert_eq!(list.pop(), None);
        assert_eq!(list.next_time_ns(), None);
    }
}
