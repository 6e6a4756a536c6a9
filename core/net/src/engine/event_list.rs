//! The event list has the tokens in transit, ordered by time, then by order of creation. An event
//! is a linked list of tokens that arrive at one time. Events wait in lines or in a queue
//! that sorts them.

use std::collections::VecDeque;

use super::event::Event;
use super::event_queue::EventQueue;
pub(crate) use super::event_queue::NEAR;

/// Largest number of lines of an event list. Each pop looks at the first event of each line.
pub(crate) const LINES_MAX: usize = 4;

/// The line number of an event that goes to the sorted queue.
pub(crate) const NO_LINE: u8 = u8::MAX;

/// Pending events, earliest first.
///
/// Events with the same constant delay are scheduled in the order of their times. They wait in a
/// line: a first-in first-out queue. The cost of an event in a line does not depend on the number
/// of pending events. All other events wait in a queue that sorts them (`EventQueue`).
///
/// The events of one instant often wait in one line. To find out whether the first event of this
/// line is the earliest event of all, it is compared with only one event, `second`.
#[derive(Debug)]
pub(crate) struct EventList {
    queue: EventQueue,
    lines: Vec<Line>,
    /// The earliest event.
    next: Event,
    /// The second earliest of certain events: the first event of the sorted queue and the first
    /// event of each line.
    second: Event,
    /// Number of the line that has the earliest event; `NO_LINE` if the sorted queue has it.
    next_line: u8,
    /// The number that the next event gets. It is larger than the numbers of all pending events.
    next_number: u32,
}

/// A queue of events whose times ascend.
#[derive(Clone, Debug, Default)]
struct Line {
    events: VecDeque<Event>,
    /// Time of the event that was added last, in nanoseconds.
    last_ns: u64,
}

impl Line {
    /// The first event, or `Event::NONE`.
    #[inline(always)]
    fn first(&self) -> Event {
        self.events.front().copied().unwrap_or(Event::NONE)
    }
}

impl EventList {
    /// An event list without events, with this number of lines.
    pub(crate) fn new(lines: usize) -> Self {
        Self {
            queue: EventQueue::new(),
            lines: vec![Line::default(); lines],
            next: Event::NONE,
            second: Event::NONE,
            next_line: NO_LINE,
            next_number: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        (!self.next.is_none()).then_some(self.next.time_ns())
    }

    /// Whether the earliest event is at `time_ns`. May be true for an empty list if `time_ns` is
    /// the largest number.
    #[inline(always)]
    pub(crate) fn has_at(&self, time_ns: u64) -> bool {
        self.next.time_ns() == time_ns
    }

    /// The earliest events outside of lines, in order. There are none if few events are pending. If
    /// there are some, the memory that their tokens need is seldom in the processor's cache.
    #[inline(always)]
    pub(crate) fn near(&self) -> &VecDeque<Event> {
        self.queue.near()
    }

    /// All pending events, in arbitrary order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = Event> + '_ {
        let in_lines = self.lines.iter().flat_map(|line| &line.events);
        self.queue.events().chain(in_lines.copied())
    }

    /// Adds an event: the linked list of tokens that begins with `first_token` becomes available at
    /// `time_ns`. The event goes to a line. If there is no such line, or if the last event of the
    /// line is later than this event, the event goes to the sorted queue.
    #[inline(always)]
    pub(crate) fn push(&mut self, time_ns: u64, first_token: u32, line: u8) {
        if self.next_number == u32::MAX {
            self.renumber();
        }
        let event = Event::new(time_ns, self.next_number, first_token);
        self.next_number += 1;
        let held_by = match self.lines.get_mut(usize::from(line)) {
            Some(queue) if queue.last_ns <= time_ns => {
                queue.last_ns = time_ns;
                queue.events.push_back(event);
                line
            }
            _ => {
                self.queue.push(event);
                NO_LINE
            }
        };
        if event < self.second {
            self.compare(event, held_by);
        }
    }

    /// Numbers the pending events again, from 0, in their present order. The numbers of a long run
    /// do not fit in 32 bits otherwise.
    #[cold]
    #[inline(never)]
    fn renumber(&mut self) {
        let in_lines = self.lines.iter_mut().flat_map(|line| &mut line.events);
        let mut events: Vec<&mut Event> = self.queue.events_mut().chain(in_lines).collect();
        events.sort_unstable();
        self.next_number = events.len() as u32;
        for (number, event) in (0..).zip(events) {
            *event = Event::new(event.time_ns(), number, event.first_token());
        }
        self.find_next();
    }

    /// Updates `next`, `second` and `next_line` after `event` became the first one of the line
    /// `held_by`, or of the sorted queue if `held_by` is `NO_LINE`.
    #[inline(always)]
    fn compare(&mut self, event: Event, held_by: u8) {
        let is_elsewhere = held_by != self.next_line;
        if event < self.next {
            if is_elsewhere {
                (self.second, self.next_line) = (self.next, held_by);
            }
            self.next = event;
        } else if is_elsewhere {
            self.second = event;
        }
    }

    /// Removes and returns the earliest event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let found = self.next;
        let first = match self.lines.get_mut(usize::from(self.next_line)) {
            Some(line) => {
                line.events.pop_front();
                line.first()
            }
            None => self.queue.pop(),
        };
        if first < self.second {
            self.next = first;
        } else {
            self.find_next();
        }
        (!found.is_none()).then_some(found)
    }

    /// Finds the earliest event by a comparison of the first events of the sorted queue and of
    /// all lines.
    #[inline(never)]
    fn find_next(&mut self) {
        let (mut next, mut next_line, mut second) = (self.queue.first(), NO_LINE, Event::NONE);
        for (number, line) in (0u8..).zip(&self.lines) {
            let event = line.first();
            if event < next {
                (next, next_line, second) = (event, number, next);
            } else {
                second = second.min(event);
            }
        }
        (self.next, self.next_line, self.second) = (next, next_line, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    /// Removes the earliest event and compares it with the first of the events that are wanted:
    /// pairs of a time and a token.
    fn pop_first(list: &mut EventList, wanted: &mut Vec<(u64, u32)>) {
        wanted.sort_unstable();
        let (time_ns, token) = wanted.remove(0);
        assert_eq!(list.next_time_ns(), Some(time_ns));
        let event = list.pop().expect("as many as were pushed");
        assert_eq!((event.time_ns(), event.first_token()), (time_ns, token));
    }

    #[test]
    fn pops_in_order_of_time_and_making() {
        // The numbers of the second list reach their limit, so its events are numbered again.
        for next_number in [0, u32::MAX - 2_000] {
            let mut stream = Stream::new(5, 0, 0);
            let mut list = EventList::new(2);
            list.next_number = next_number;
            let mut wanted = Vec::new();
            for token in 0..5_000 {
                let time_ns = stream.below(300) as u64;
                // No line has the number 2, so such an event goes to the queue.
                list.push(time_ns, token, stream.below(3) as u8);
                wanted.push((time_ns, token));
                if stream.below(3) == 0 {
                    pop_first(&mut list, &mut wanted);
                }
            }
            assert!(list.next_number < 5_001, "{} is not new", list.next_number);
            assert_eq!(list.pending().count(), wanted.len());
            assert!(
                !list.near().is_empty(),
                "the queue is so large that it has near events"
            );
            while !wanted.is_empty() {
                pop_first(&mut list, &mut wanted);
            }
            assert_eq!(list.pop(), None);
            assert_eq!(list.next_time_ns(), None);
        }
    }
}
