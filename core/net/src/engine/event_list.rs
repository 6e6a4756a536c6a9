//! The event list has the tokens in transit, ordered by time, then by order of creation. An event
//! is a linked list of tokens that arrive at one time. Events wait in queues or in a heap with four
//! children per node.

use std::collections::VecDeque;

use crate::marking::bucket::reserve;

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

/// Pending events, earliest first.
///
/// Events with the same constant delay are scheduled in the order of their times. They wait in a
/// line: a first-in first-out queue. The cost of an event in a line does not depend on the number
/// of pending events. All other events wait in a heap with four children per node. This heap has
/// half the levels of a binary heap, and siblings share cache lines. With fewer than 500 events it
/// was measured to be twice as fast as a binary heap.
///
/// The events of one instant often wait in one line. To find out whether the first event of this
/// line is the earliest event of all, its sort key is compared with only one number, `second`.
#[derive(Debug)]
pub(crate) struct EventList {
    heap: Vec<Event>,
    lines: Vec<Line>,
    /// The sort key of the earliest event; the largest number if no event is pending.
    next: u128,
    /// The second smallest of certain sort keys. These are the sort keys of the first event of the
    /// heap and of the first event of each line. The largest number if there is only one such
    /// event.
    second: u128,
    /// Number of the line that has the earliest event; `NO_LINE` if the heap has it.
    next_line: u8,
}

/// A queue of events whose times ascend.
#[derive(Clone, Debug, Default)]
struct Line {
    events: VecDeque<Event>,
    /// Time of the event that was added last, in nanoseconds.
    last_ns: u64,
}

impl Line {
    /// The sort key of the first event; the largest number if there is no event.
    #[inline(always)]
    fn first(&self) -> u128 {
        self.events.front().map_or(u128::MAX, Event::order)
    }
}

const CHILDREN: usize = 4;

/// Smallest number of events in a large heap. The records and cells of the tokens of this number of
/// events fill about the first-level cache of a processor.
const LARGE: usize = 256;

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
            second: u128::MAX,
            next_line: NO_LINE,
        }
    }

    #[inline(always)]
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        (self.next != u128::MAX).then_some((self.next >> 64) as u64)
    }

    /// Whether the earliest event is at `time_ns`. May be true for an empty list if `time_ns` is
    /// the largest number.
    #[inline(always)]
    pub(crate) fn has_at(&self, time_ns: u64) -> bool {
        (self.next >> 64) as u64 == time_ns
    }

    /// Whether at least `LARGE` events wait in the heap. Their tokens are then seldom in the cache.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.heap.len() >= LARGE
    }

    /// The earliest event of the heap, followed by its children in the heap. The second earliest
    /// event of the heap is one of these children.
    pub(crate) fn soonest(&self) -> &[Event] {
        &self.heap[..self.heap.len().min(1 + CHILDREN)]
    }

    /// All pending events, in arbitrary order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Event> {
        let in_lines = self.lines.iter().flat_map(|line| &line.events);
        self.heap.iter().chain(in_lines)
    }

    /// Adds an event to a line. If there is no such line, or if the last event of the line is later
    /// than this event, the event goes to the heap.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event, line: u8) {
        let order = event.order();
        let held_by = match self.lines.get_mut(usize::from(line)) {
            Some(queue) if queue.last_ns <= event.time_ns => {
                queue.last_ns = event.time_ns;
                queue.events.push_back(event);
                line
            }
            _ => {
                self.push_to_heap(event);
                NO_LINE
            }
        };
        if order < self.second {
            self.compare(order, held_by);
        }
    }

    /// Updates `next`, `second` and `next_line` after an event with the sort key `order` became the
    /// first one of the line `held_by`, or of the heap if `held_by` is `NO_LINE`.
    #[inline(always)]
    fn compare(&mut self, order: u128, held_by: u8) {
        let is_elsewhere = held_by != self.next_line;
        if order < self.next {
            if is_elsewhere {
                (self.second, self.next_line) = (self.next, held_by);
            }
            self.next = order;
        } else if is_elsewhere {
            self.second = order;
        }
    }

    /// Removes and returns the earliest event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let (found, first) = match self.lines.get_mut(usize::from(self.next_line)) {
            Some(line) => (line.events.pop_front(), line.first()),
            None => (self.pop_from_heap(), self.first_of_heap()),
        };
        if first < self.second {
            self.next = first;
        } else {
            self.find_next();
        }
        found
    }

    #[inline(always)]
    fn first_of_heap(&self) -> u128 {
        self.heap.first().map_or(u128::MAX, Event::order)
    }

    /// Finds the earliest event by a comparison of the first events of the heap and of all lines.
    #[inline(never)]
    fn find_next(&mut self) {
        let (mut next, mut next_line, mut second) = (self.first_of_heap(), NO_LINE, u128::MAX);
        for (number, line) in (0u8..).zip(&self.lines) {
            let order = line.first();
            if order < next {
                (next, next_line, second) = (order, number, next);
            } else {
                second = second.min(order);
            }
        }
        (self.next, self.next_line, self.second) = (next, next_line, second);
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
