//! Pending events in order of time. A few events are stored in order, more events in a heap. The
//! earliest events of a large heap are stored apart, in order, so that a run can fetch the memory
//! that each of them needs before its time comes.

use std::collections::VecDeque;

use super::event::Event;
use super::event_heap::EventHeap;
use super::few_events::FewEvents;

/// Smallest number of events in a large heap. The records and cells of the tokens of this number of
/// events fill about the first-level cache of a processor.
const LARGE: usize = 256;

/// Number of events that are stored in order while the heap is large.
pub(crate) const NEAR: usize = 16;

/// Number of events in the heap at which all events return from the heap to the ordered list. It is
/// half of what the list holds, so that the events do not move to and fro.
const FEW: usize = FewEvents::MOST / 2;

/// Pending events. As long as they are few, they wait in an ordered list, and the heap is empty.
/// While the heap is large, the `NEAR` earliest events wait in order outside the heap.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// All events, if `are_few` is true; otherwise none.
    few: FewEvents,
    are_few: bool,
    /// Events in order. Each of them is earlier than all events of the heap.
    near: VecDeque<Event>,
    heap: EventHeap,
}

impl EventQueue {
    pub(super) fn new() -> Self {
        Self {
            few: FewEvents::new(),
            are_few: true,
            near: VecDeque::new(),
            heap: EventHeap::new(),
        }
    }

    /// The earliest event, or `Event::NONE`.
    #[inline(always)]
    pub(super) fn first(&self) -> Event {
        match self.are_few {
            true => self.few.first(),
            false => self.first_of_many(),
        }
    }

    #[inline(always)]
    fn first_of_many(&self) -> Event {
        match self.near.front() {
            Some(&first) => first,
            None => self.heap.first(),
        }
    }

    /// The earliest events, in order. There are none if the heap is not large.
    #[inline(always)]
    pub(super) fn near(&self) -> &VecDeque<Event> {
        &self.near
    }

    /// All events, in arbitrary order.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let near = self.near.iter().copied();
        let few = self.few.events().iter().copied();
        self.heap.events().chain(near).chain(few)
    }

    /// All events, in arbitrary order. A change must not change the order of the events.
    pub(super) fn events_mut(&mut self) -> impl Iterator<Item = &mut Event> {
        let few = self.few.events_mut();
        self.heap.events_mut().chain(&mut self.near).chain(few)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) {
        if !self.are_few || !self.few.push(event) {
            self.push_to_many(event);
        }
    }

    /// Adds an event to the heap or to `near`. If the list of few events is full, its events move
    /// to the heap first.
    #[inline(never)]
    fn push_to_many(&mut self, event: Event) {
        if self.are_few {
            self.are_few = false;
            while self.few.first() != Event::NONE {
                self.heap.push(self.few.first());
                self.few.pop();
            }
        }
        match self.near.back() {
            Some(&last) if event < last => self.insert(event),
            _ => self.heap.push(event),
        }
    }

    /// Inserts an event that is earlier than the last one of `near`.
    #[cold]
    fn insert(&mut self, event: Event) {
        let at = self.near.partition_point(|&one| one < event);
        self.near.insert(at, event);
        if self.near.len() > NEAR {
            let last = self.near.pop_back().expect("there are events");
            self.heap.push(last);
        }
    }

    /// Removes the earliest event. Returns the event that is now the earliest, or `Event::NONE`.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Event {
        match self.are_few {
            true => {
                self.few.pop();
                self.few.first()
            }
            false => self.pop_of_many(),
        }
    }

    #[inline(always)]
    fn pop_of_many(&mut self) -> Event {
        if self.near.pop_front().is_none() {
            self.heap.pop();
        }
        let left = self.heap.len();
        if left >= LARGE {
            self.refill();
        } else if left <= FEW && self.near.is_empty() {
            self.become_few();
        }
        self.first()
    }

    /// Moves the earliest events of the heap to `near`, until there are `NEAR` events.
    #[inline(never)]
    fn refill(&mut self) {
        while self.near.len() < NEAR {
            self.near.push_back(self.heap.first());
            self.heap.pop();
        }
    }

    /// Moves all events of the heap to the list of few events.
    #[inline(never)]
    fn become_few(&mut self) {
        self.are_few = true;
        while self.heap.len() > 0 {
            self.few.push(self.heap.first());
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn events_keep_their_order_between_the_list_and_the_heap() {
        let mut stream = Stream::new(3, 0, 0);
        let mut queue = EventQueue::new();
        let mut wanted: Vec<Event> = Vec::new();
        let (mut was_few, mut returns, mut largest) = (true, 0, 0);
        for number in 0..30_000 {
            // Pushes prevail for 1,500 steps, then pops, so that the queue grows and shrinks.
            let pushes = stream.below(8) < if number / 1_500 % 2 == 0 { 6 } else { 2 };
            if pushes {
                let event = Event::new(stream.below(1_000) as u64, number, number);
                queue.push(event);
                wanted.insert(wanted.partition_point(|&one| one < event), event);
            } else if wanted.is_empty() {
                assert_eq!(queue.pop(), Event::NONE);
            } else {
                wanted.remove(0);
                let first = wanted.first().copied().unwrap_or(Event::NONE);
                assert_eq!(queue.pop(), first, "step {number}");
            }
            assert_eq!(queue.first(), *wanted.first().unwrap_or(&Event::NONE));
            assert_eq!(queue.events().count(), wanted.len());
            assert_eq!(queue.events_mut().count(), wanted.len());
            returns += u32::from(queue.are_few && !was_few);
            (was_few, largest) = (queue.are_few, largest.max(wanted.len()));
        }
        assert!(returns > 2, "{returns} returns from the heap to the list");
        assert!(largest > LARGE + NEAR, "{largest} events at most");
    }
}
