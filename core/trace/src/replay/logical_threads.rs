//! Assigns the calls of trees to logical threads. The calls of one logical thread are disjoint or
//! nested in time. The time of each logical thread is divided into consecutive segments.

use std::collections::HashMap;

use super::elsewhere::Elsewhere;
use super::steps;
use super::thread_pool::ThreadPool;
use crate::span::Span;
use crate::tree::{Forest, NONE};

/// The type of a segment, which is a time interval of one call on one logical thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole call without child calls.
    Leaf,
    /// Self time of a call between its child calls.
    Between,
    /// A call that is a wait by its name or by the recorder's classification, and the pause after
    /// it.
    Wait,
    /// Time in which the call is blocked until a call on another logical thread has ended.
    Joined,
    /// Time in which a call on another logical thread runs and continues after the end of the
    /// segment.
    Open,
}

/// A time interval on one logical thread that belongs to one span.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Index of the span to whose self time the segment belongs.
    pub span: u32,
    /// Number of the logical thread of the segment.
    pub thread: u32,
    /// The type of the segment.
    pub kind: Kind,
    /// Start of the segment, ns.
    pub start_ns: u64,
    /// End of the segment, ns.
    pub end_ns: u64,
    /// Index of the span whose end is also the end of the segment, or `NONE`.
    pub joins: u32,
}

/// The segments of all call trees of a forest. Each span has a logical thread, a first segment and
/// a last segment.
#[derive(Debug, Default)]
pub struct LogicalThreads {
    /// All segments. Those of one logical thread are in order of time.
    pub segments: Vec<Segment>,
    /// Indices of the first and the last segment of each span.
    pub of_span: Vec<(u32, u32)>,
    /// Number of the logical thread of each span.
    pub thread_of: Vec<u32>,
    nested: Vec<bool>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Thread(u32, u32, u64),
    /// Calls without a thread id, by their caller, service, host and name.
    Row(u32, u32, u32, u32),
}

impl LogicalThreads {
    /// Assigns the calls of a forest to logical threads and divides the time of each logical thread
    /// into segments. `waits` says for each span whether it is a wait.
    pub fn of(forest: &Forest, waits: &[bool]) -> Self {
        let mut threads = LogicalThreads {
            of_span: vec![(NONE, NONE); forest.spans.len()],
            ..LogicalThreads::default()
        };
        threads.assign(forest);
        let mut tops: Vec<u32> = (0..forest.spans.len() as u32)
            .filter(|&span| !threads.is_nested(span))
            .collect();
        tops.sort_by_key(|&span| (forest.spans[span as usize].start_ns, span));
        for span in tops {
            threads.lay(forest, waits, span);
        }
        threads
    }

    /// Whether a span is on the logical thread of its parent, and within the parent's time.
    pub fn is_nested(&self, span: u32) -> bool {
        self.nested[span as usize]
    }

    /// Assigns each span to a logical thread, so that spans of one logical thread are disjoint or
    /// nested.
    fn assign(&mut self, forest: &Forest) {
        self.thread_of = vec![NONE; forest.spans.len()];
        self.nested = vec![false; forest.spans.len()];
        let mut known: HashMap<Key, ThreadPool> = HashMap::new();
        let mut threads = 0;
        // For each span, the latest end of the calls that it has made so far on its own logical
        // thread.
        let mut inside_until: Vec<u64> = forest.spans.iter().map(|span| span.start_ns).collect();
        let mut order = forest.order.clone();
        // Calls that begin at the same time are ordered by `rank`, so that a parent precedes its
        // child.
        let mut rank = vec![0u32; forest.spans.len()];
        for (place, &node) in (0u32..).zip(&forest.order) {
            rank[node as usize] = place;
        }
        order.sort_by_key(|&node| (forest.spans[node as usize].start_ns, rank[node as usize]));
        for node in order {
            let span = &forest.spans[node as usize];
            let parent = forest.parents[node as usize];
            if parent != NONE && self.thread_of[parent as usize] != NONE {
                let above = &forest.spans[parent as usize];
                let free_from_ns = &mut inside_until[parent as usize];
                let fits = span.start_ns >= *free_from_ns && span.end_ns <= above.end_ns;
                if fits && same_thread(span, above) {
                    *free_from_ns = span.end_ns;
                    self.thread_of[node as usize] = self.thread_of[parent as usize];
                    self.nested[node as usize] = true;
                    continue;
                }
            }
            let row = if parent == NONE { node } else { parent };
            let key = match span.thread {
                0 => Key::Row(row, span.service, span.host, span.name),
                thread => Key::Thread(span.service, span.host, thread),
            };
            let rows = known.entry(key).or_default();
            let thread = rows.free_at(span.start_ns).unwrap_or_else(|| {
                threads += 1;
                threads - 1
            });
            rows.take(thread, span.end_ns);
            self.thread_of[node as usize] = thread;
        }
    }

    /// Divides the time of one span into segments. The calls within the span that are on its
    /// logical thread are divided, too, by recursion. The recursion is at most as deep as the
    /// trees.
    fn lay(&mut self, forest: &Forest, waits: &[bool], span: u32) {
        let whole = &forest.spans[span as usize];
        let first = self.segments.len() as u32;
        let (mut own, others): (Vec<u32>, Vec<u32>) = forest
            .children
            .get(span)
            .iter()
            .partition(|&&child| self.is_nested(child));
        let times = |child: u32| {
            let call = &forest.spans[child as usize];
            (call.start_ns, call.end_ns)
        };
        // The calls must be sorted by time. The calls may be out of order: if a tree is too deep,
        // its deepest calls are moved up, and these calls are in the order of their ids.
        own.sort_by_key(|&child| times(child));
        steps::take(1 + own.len() + others.len());
        let mut reached = whole.start_ns;
        let leaf = own.is_empty() && others.is_empty();
        let call = |child: u32| (times(child).0, times(child).1, child);
        let mut others = Elsewhere::of(others.into_iter().map(call).collect());
        // A wait and the pause after it form one segment, which ends at the next call. Whether or
        // not a call was preceded by a wait, the n-th segment therefore always precedes the n-th
        // call.
        let mut waiting = None;
        for child in own {
            let begin = forest.spans[child as usize].start_ns;
            match waiting.take() {
                Some(wait) => self.lay_wait(wait, (reached, begin)),
                None => self.piece(waits, (span, leaf), (reached, begin), &mut others),
            }
            if waits[child as usize] && forest.children.get(child).is_empty() {
                (waiting, reached) = (Some(child), begin);
                continue;
            }
            self.lay(forest, waits, child);
            reached = forest.spans[child as usize].end_ns;
        }
        match waiting {
            Some(wait) => self.lay_wait(wait, (reached, whole.end_ns)),
            None => self.piece(waits, (span, leaf), (reached, whole.end_ns), &mut others),
        }
        self.of_span[span as usize] = (first, self.segments.len() as u32 - 1);
    }

    fn lay_wait(&mut self, wait: u32, (start_ns, end_ns): (u64, u64)) {
        let at = self.segments.len() as u32;
        self.of_span[wait as usize] = (at, at);
        self.segments.push(Segment {
            span: wait,
            thread: self.thread_of[wait as usize],
            kind: Kind::Wait,
            start_ns,
            end_ns,
            joins: NONE,
        });
    }

    /// Adds the segments of one interval of a span's self time. A new segment begins whenever a
    /// call on another logical thread begins or ends.
    fn piece(
        &mut self,
        waits: &[bool],
        (span, leaf): (u32, bool),
        (start_ns, end_ns): (u64, u64),
        others: &mut Elsewhere,
    ) {
        let thread = self.thread_of[span as usize];
        let own = match (waits[span as usize], leaf) {
            (true, _) => Kind::Wait,
            (false, true) => Kind::Leaf,
            (false, false) => Kind::Between,
        };
        let piece = |kind, (start_ns, end_ns), joins| Segment {
            span,
            thread,
            kind,
            start_ns,
            end_ns,
            joins,
        };
        let before = self.segments.len();
        let mut put = |kind, start_ns, end_ns, joins| {
            // A segment of zero length is needed only if a call on another logical thread ends at
            // the same time.
            if start_ns == end_ns && joins == NONE {
                return;
            }
            self.segments.push(piece(kind, (start_ns, end_ns), joins));
        };
        let mut at = start_ns;
        for (from, to, last) in others.within(start_ns, end_ns) {
            put(own, at, from, NONE);
            if to <= end_ns {
                put(Kind::Joined, from, to, last);
            } else {
                put(Kind::Open, from, end_ns, NONE);
            }
            at = to.min(end_ns);
        }
        put(own, at, end_ns, NONE);
        if self.segments.len() == before {
            self.segments.push(piece(own, (start_ns, end_ns), NONE));
        }
    }
}

fn same_thread(span: &Span, above: &Span) -> bool {
    let thread = span.thread == 0 || span.thread == above.thread;
    thread && (span.service, span.host) == (above.service, above.host)
}
