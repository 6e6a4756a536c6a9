//! Pending events in order of time. The earliest events of a large queue are stored apart, in
//! order, so that a run can fetch the memory that each of them needs before its time comes.

use std::collections::VecDeque;

use super::event::Event;
use super::event_heap::EventHeap;

/// Smallest number of events in a large heap. The records and cells of the tokens of this number of
/// events fill about the first-level cache of a processor.
const LARGE: usize = 256;

/// Number of events that are stored in order while the heap is large.
pub(crate) const NEAR: usize = 16;

/// Pending events. While the heap is large, the `NEAR` earliest events wait in order outside the
/// heap.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Events in order. Each of them is earlier than all events of the heap.
    near: VecDeque<Event>,
    heap: EventHeap,
}

impl EventQueue {
    pub(super) fn new() -> Self {
        Self {
            near: VecDeque::new(),
            heap: EventHeap::new(),
        }
    }

    /// The earliest event, or `Event::NONE`.
    #[inline(always)]
    pub(super) fn first(&self) -> Event {
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
        self.heap.events().chain(self.near.iter().copied())
    }

    /// All events, in arbitrary order. A change must not change the order of the events.
    pub(super) fn events_mut(&mut self) -> impl Iterator<Item = &mut Event> {
        self.heap.events_mut().chain(&mut self.near)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) {
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

    /// Removes the earliest event.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        if self.near.pop_front().is_none() {
            self.heap.pop();
        }
        if self.heap.len() >= LARGE {
            self.refill();
        }
    }

    /// Moves the earliest events of the heap to `near`, until there are `NEAR` events.
    #[inline(never)]
    fn refill(&mut self) {
        while self.near.len() < NEAR {
            self.near.push_back(self.heap.first());
            self.heap.pop();
        }
    }
}
