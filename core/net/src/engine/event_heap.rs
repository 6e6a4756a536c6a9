//! A heap of pending events with four children per node. It has half the levels of a binary heap.

use super::event::Event;

const CHILDREN: usize = 4;

/// Number of the first node of a heap.
const ROOT: usize = CHILDREN - 1;

/// Four nodes with the same parent. They fill one cache line. An unused node has no event.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Siblings([Event; CHILDREN]);

impl Siblings {
    const UNUSED: Self = Self([Event::NONE; CHILDREN]);

    /// The earliest event, with its position among the siblings.
    #[inline(always)]
    fn earliest(&self) -> (Event, usize) {
        let [first, second, third, fourth] = self.0;
        let left = match second < first {
            true => (second, 1),
            false => (first, 0),
        };
        let right = match fourth < third {
            true => (fourth, 3),
            false => (third, 2),
        };
        match right.0 < left.0 {
            true => right,
            false => left,
        }
    }
}

/// Pending events. The event of a node is earlier than those of its children.
///
/// The nodes are numbered from `ROOT`. Node n is in the group n / 4 of siblings, which are the
/// children of node n / 4 + 2. The children of node n are therefore the group n - 2. Each group
/// fills a cache line, so the search for the earliest child reads one line.
#[derive(Debug)]
pub(super) struct EventHeap {
    /// Never empty: the first group, which has the root, always exists.
    groups: Vec<Siblings>,
    len: usize,
}

impl EventHeap {
    pub(super) fn new() -> Self {
        Self {
            groups: vec![Siblings::UNUSED],
            len: 0,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The earliest event, or `Event::NONE`.
    #[inline(always)]
    pub(super) fn first(&self) -> Event {
        self.groups[0].0[ROOT]
    }

    /// All events, in arbitrary order.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let all = self.groups.iter().flat_map(|group| group.0);
        all.filter(|&event| event != Event::NONE)
    }

    /// All events, in arbitrary order. A change must not change the order of the events.
    pub(super) fn events_mut(&mut self) -> impl Iterator<Item = &mut Event> {
        let all = self.groups.iter_mut().flat_map(|group| &mut group.0);
        all.filter(|event| **event != Event::NONE)
    }

    #[inline(always)]
    fn node(&mut self, number: usize) -> &mut Event {
        &mut self.groups[number / CHILDREN].0[number % CHILDREN]
    }

    #[inline(always)]
    pub(super) fn push(&mut self, event: Event) {
        let mut at = ROOT + self.len;
        self.len += 1;
        if at / CHILDREN == self.groups.len() {
            self.groups.push(Siblings::UNUSED);
        }
        while at > ROOT {
            let parent_at = at / CHILDREN + 2;
            let parent = *self.node(parent_at);
            if parent < event {
                break;
            }
            *self.node(at) = parent;
            at = parent_at;
        }
        *self.node(at) = event;
    }

    /// Removes the earliest event.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        let Some(left) = self.len.checked_sub(1) else {
            return;
        };
        self.len = left;
        let last = std::mem::replace(self.node(ROOT + left), Event::NONE);
        if left == 0 {
            return;
        }
        let groups = self.groups.as_mut_slice();
        let (mut group, mut place) = (ROOT / CHILDREN, ROOT % CHILDREN);
        loop {
            let below = group * CHILDREN + place - 2;
            let Some(children) = groups.get(below) else {
                break;
            };
            let (earliest, child) = children.earliest();
            if last < earliest {
                break;
            }
            groups[group].0[place] = earliest;
            (group, place) = (below, child);
        }
        groups[group].0[place] = last;
    }
}
