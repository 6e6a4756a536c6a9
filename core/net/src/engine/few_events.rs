//! A few pending events in order of time.

use super::event::Event;

/// A list of a few pending events. The earliest one is the last of the list, so it is removed in
/// one step. To add an event, the earlier ones are shifted. For so few events, both together take
/// about a third of the instructions of a heap.
#[derive(Debug)]
pub(super) struct FewEvents {
    /// The first element is `Event::NONE`. The pending events follow, from the latest to the
    /// earliest.
    events: [Event; Self::MOST + 1],
    len: usize,
}

impl FewEvents {
    /// Largest number of events of a list.
    pub(super) const MOST: usize = 16;

    pub(super) fn new() -> Self {
        Self {
            events: [Event::NONE; Self::MOST + 1],
            len: 0,
        }
    }

    /// The earliest event, or `Event::NONE`.
    #[inline(always)]
    pub(super) fn first(&self) -> Event {
        self.events[self.len]
    }

    /// All events, from the latest to the earliest.
    pub(super) fn events(&self) -> &[Event] {
        &self.events[1..=self.len]
    }

    /// All events, from the latest to the earliest. A change must not change their order.
    pub(super) fn events_mut(&mut self) -> &mut [Event] {
        &mut self.events[1..=self.len]
    }

    /// Adds an event. Returns false, and changes nothing, if the list is full.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) -> bool {
        if self.len >= Self::MOST {
            return false;
        }
        self.len += 1;
        let mut at = self.len;
        while at > 0 {
            let earlier = self.events[at - 1];
            if event < earlier {
                break;
            }
            self.events[at] = earlier;
            at -= 1;
        }
        self.events[at] = event;
        true
    }

    /// Removes the earliest event.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }
}
