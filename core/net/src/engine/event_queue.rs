//! Pending events in order of time. A few events are stored in order, more events in a heap. The
//! earliest events of a large heap are stored apart, in order, so that a run can fetch the memory
//! that each of them needs before its time comes. Of thousands of events, only the earlier ones are
//! in the heap.

use std::collections::VecDeque;

use super::event::Event;
use super::event_heap::EventHeap;
use super::few_events::FewEvents;
use super::later_events::LaterEvents;

/// Smallest number of events in a large heap. The records and cells of the tokens of this number of
/// events fill about the first-level cache of a processor.
const LARGE: usize = 256;

/// Number of events that are stored in order while the heap is large.
pub(crate) const NEAR: usize = 16;

/// Number of events in the heap at which all events return from the heap to the ordered list. It is
/// half of what the list holds, so that the events do not move to and fro.
const FEW: usize = FewEvents::MOST / 2;

/// Number of events in the heap at which they are divided by time: only the earliest ones stay in
/// the heap. All return to the heap when fewer than `LARGE` are left.
const DIVIDED: usize = 2_048;

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
    /// Events that are later than those of `near` and of the heap.
    later: LaterEvents,
    /// Number of events in the heap at which they are divided. The number rises if a division
    /// leaves many events in the heap because their times are equal. Divisions then stay rare.
    divide_at: usize,
}

impl EventQueue {
    pub(super) fn new() -> Self {
        Self {
            few: FewEvents::new(),
            are_few: true,
            near: VecDeque::new(),
            heap: EventHeap::new(),
            later: LaterEvents::new(),
            divide_at: DIVIDED,
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
        let later = self.later.events();
        self.heap.events().chain(near).chain(few).chain(later)
    }

    /// All events, in arbitrary order. A change must not change the order of the events.
    pub(super) fn events_mut(&mut self) -> impl Iterator<Item = &mut Event> {
        let few = self.few.events_mut();
        let later = self.later.events_mut();
        let heap = self.heap.events_mut();
        heap.chain(&mut self.near).chain(few).chain(later)
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
        if self.later.push(event) {
            return;
        }
        match self.near.back() {
            Some(&last) if event < last => self.insert(event),
            _ => self.heap.push(event),
        }
        if self.heap.len() >= self.divide_at && self.later.len() == 0 {
            self.divide();
        }
    }

    /// Divides the events of the heap by time. Only the earliest ones stay in the heap.
    #[inline(never)]
    fn divide(&mut self) {
        self.later.take_over(&mut self.heap);
        self.later.move_next(&mut self.heap);
        self.divide_at = DIVIDED.max(2 * self.heap.len());
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
        let left = self.heap.len() + self.later.len();
        if left >= LARGE {
            self.refill();
        } else if self.later.len() > 0 {
            self.later.move_all(&mut self.heap);
            self.divide_at = DIVIDED;
        } else if left <= FEW && self.near.is_empty() {
            self.become_few();
        }
        self.first()
    }

    /// Moves the earliest events of the heap to `near`, until there are `NEAR` events.
    #[inline(never)]
    fn refill(&mut self) {
        while self.near.len() < NEAR {
            if self.heap.len() == 0 {
                self.later.move_next(&mut self.heap);
            }
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

    /// A time for an event. Many times are equal, some are far from the others.
    fn time_ns(now_ns: u64, stream: &mut Stream) -> u64 {
        let wait_ns = match stream.below(64) {
            0 => 1 << 45,
            1 => u64::MAX,
            2..20 => stream.below(40) as u64,
            _ => stream.below(20_000) as u64,
        };
        now_ns.saturating_add(wait_ns)
    }

    #[test]
    fn events_keep_their_order_wherever_they_wait() {
        let mut stream = Stream::new(3, 0, 0);
        let mut queue = EventQueue::new();
        let mut wanted: Vec<Event> = Vec::new();
        let (mut now_ns, mut was_few, mut was_divided) = (0, true, false);
        let (mut returns, mut divisions) = (0, 0);
        for number in 0..80_000 {
            // Pushes prevail for 10,000 steps, then pops, so that the queue grows and shrinks.
            let pushes = stream.below(8) < if number / 10_000 % 2 == 0 { 6 } else { 1 };
            if pushes {
                let event = Event::new(time_ns(now_ns, &mut stream), number, number);
                queue.push(event);
                wanted.insert(wanted.partition_point(|&one| one < event), event);
            } else if wanted.is_empty() {
                assert_eq!(queue.pop(), Event::NONE);
                now_ns = 0;
            } else {
                now_ns = wanted.remove(0).time_ns();
                let first = wanted.first().copied().unwrap_or(Event::NONE);
                assert_eq!(queue.pop(), first, "step {number}");
            }
            assert_eq!(queue.first(), *wanted.first().unwrap_or(&Event::NONE));
            if number % 256 == 0 {
                assert_eq!(queue.events().count(), wanted.len());
                assert_eq!(queue.events_mut().count(), wanted.len());
            }
            let is_divided = queue.later.len() > 0;
            returns += u32::from(queue.are_few && !was_few);
            divisions += u32::from(is_divided && !was_divided);
            (was_few, was_divided) = (queue.are_few, is_divided);
        }
        assert!(returns > 2, "{returns} returns from the heap to the list");
        assert!(divisions > 2, "{divisions} times divided");
    }

    #[test]
    fn events_of_one_time_are_seldom_divided() {
        let mut queue = EventQueue::new();
        (0..10_000).for_each(|number| queue.push(Event::new(7, number, number)));
        assert_eq!(queue.heap.len(), 10_000, "no event is later");
        assert!(queue.divide_at > 10_000, "{}", queue.divide_at);
        for number in 1..10_000 {
            assert_eq!(queue.pop(), Event::new(7, number, number));
        }
    }
}
