//! Call trees recovered from spans that arrive shuffled, twice, without parents or in rings.

use crate::losses::Losses;
use crate::span::{Span, SpanStore, Texts};

/// No such node.
pub const NONE: u32 = u32::MAX;

/// The deepest level that keeps its own place; deeper calls are re-hung there, so that neither
/// a path nor a reader that recurses can grow without bound.
pub const DEPTH_MAX: u32 = 200;

/// Every node's children, as ranges of one list.
#[derive(Clone, Debug, Default)]
pub struct Children {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Children {
    fn of(parents: &[u32]) -> Self {
        let mut starts = vec![0u32; parents.len() + 1];
        for &parent in parents.iter().filter(|&&parent| parent != NONE) {
            starts[parent as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut items = vec![0; starts[parents.len()] as usize];
        let mut free = starts.clone();
        for (node, &parent) in parents.iter().enumerate() {
            if parent != NONE {
                items[free[parent as usize] as usize] = node as u32;
                free[parent as usize] += 1;
            }
        }
        Self { starts, items }
    }

    /// The children of one node.
    pub fn get(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    fn get_mut(&mut self, node: u32) -> &mut [u32] {
        let node = node as usize;
        &mut self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// Call trees: one node a span, linked by index.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The spans, sorted by trace and span id, without duplicates.
    pub spans: Vec<Span>,
    /// Each span's parent, or `NONE` for a root.
    pub parents: Vec<u32>,
    /// Each span's children.
    pub children: Children,
    /// Every node, parents before their children.
    pub order: Vec<u32>,
    /// Duration minus the union of the children's intervals clipped to the span, nanoseconds.
    pub self_ns: Vec<u64>,
    /// Names, services and hosts.
    pub texts: Texts,
    /// What reading and recovery repaired or dropped.
    pub losses: Losses,
}

impl Forest {
    /// Recovers the trees; the outcome does not depend on the order of the spans.
    ///
    /// # Panics
    /// With 2^32 - 1 spans or more.
    pub fn recover(store: SpanStore) -> Self {
        let mut forest = Self::of_spans(&store.spans, &store.texts, false);
        forest.losses.merge(&store.losses);
        forest.texts = store.texts;
        forest
    }

    /// The same, with the texts left where they are; `grouped` if each trace is in one piece.
    pub(crate) fn of_spans(spans: &[Span], texts: &Texts, grouped: bool) -> Self {
        assert!(
            spans.len() < NONE as usize,
            "more spans than one forest can number"
        );
        let mut forest = Self::default();
        forest.keep_one_each(spans, texts, grouped);
        forest.find_parents();
        forest.break_cycles();
        forest.children = Children::of(&forest.parents);
        forest.walk_down();
        forest.measure_self();
        forest.limit_depth();
        forest
    }

    /// The number of trees.
    pub fn trees(&self) -> u64 {
        self.parents
            .iter()
            .filter(|&&parent| parent == NONE)
            .count() as u64
    }

    fn keep_one_each(&mut self, spans: &[Span], texts: &Texts, grouped: bool) {
        // The usual case needs no sorting: programs number their spans as they come.
        let follows = |pair: &[Span]| {
            let same = pair[0].trace_id == pair[1].trace_id;
            !same || pair[0].span_id < pair[1].span_id
        };
        let sound = |span: &Span| span.end_ns >= span.start_ns;
        if grouped && spans.windows(2).all(follows) && spans.iter().all(sound) {
            self.spans.extend_from_slice(spans);
            return;
        }
        let mut keys: Vec<(u128, u64, u32)> = (0u32..)
            .zip(spans)
            .map(|(index, span)| (span.trace_id, span.span_id, index))
            .collect();
        keys.sort_unstable();
        self.spans.reserve_exact(keys.len());
        for same in keys.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1)) {
            let claims = same.iter().map(|&(_, _, index)| &spans[index as usize]);
            let mut kept = *match same {
                [(_, _, only)] => &spans[*only as usize],
                _ => self.choose(claims, texts),
            };
            if kept.end_ns < kept.start_ns {
                self.losses.end_before_start += 1;
                kept.end_ns = kept.start_ns;
            }
            self.spans.push(kept);
        }
    }

    /// Of several spans under one identity the longest stays: the others were cut short.
    fn choose<'a>(
        &mut self,
        claims: impl Iterator<Item = &'a Span> + Clone,
        texts: &Texts,
    ) -> &'a Span {
        let rank = |span: &Span| {
            let text = |id| texts.text(id);
            let words = (text(span.name), text(span.service), text(span.host));
            let numbers = (
                span.parent_id,
                span.thread,
                span.bytes,
                span.status_error,
                span.wait,
            );
            (
                span.duration_ns(),
                span.start_ns,
                span.end_ns,
                numbers,
                words,
            )
        };
        let kept = claims
            .clone()
            .max_by_key(|&span| rank(span))
            .expect("at least one claim");
        let (mut equal, mut different) = (0, 0);
        for claim in claims {
            *if claim == kept {
                &mut equal
            } else {
                &mut different
            } += 1;
        }
        self.losses.duplicates += equal - 1;
        self.losses.conflicting_duplicates += different;
        kept
    }

    fn find_parents(&mut self) {
        self.parents = vec![NONE; self.spans.len()];
        let mut start = 0;
        for trace in self
            .spans
            .chunk_by(|left, right| left.trace_id == right.trace_id)
        {
            // Siblings come in rows, so the parent of the one before is tried first.
            let mut latest = (0, 0);
            for (node, span) in (start..).zip(trace) {
                if span.parent_id == span.span_id {
                    self.losses.self_parents += 1;
                } else if span.parent_id != 0 && span.parent_id == latest.0 {
                    self.parents[node] = latest.1;
                } else if span.parent_id != 0 {
                    match trace.binary_search_by_key(&span.parent_id, |span| span.span_id) {
                        Ok(parent) => {
                            latest = (span.parent_id, (start + parent) as u32);
                            self.parents[node] = latest.1;
                        }
                        Err(_) => self.losses.missing_parents += 1,
                    }
                }
            }
            start += trace.len();
        }
    }

    fn break_cycles(&mut self) {
        let mut walked_by = vec![NONE; self.spans.len()];
        for walk in 0..self.spans.len() as u32 {
            let mut node = walk;
            while node != NONE && walked_by[node as usize] == NONE {
                walked_by[node as usize] = walk;
                node = self.parents[node as usize];
            }
            // Meeting one's own steps again means a ring.
            if node != NONE && walked_by[node as usize] == walk {
                self.break_cycle(node);
            }
        }
    }

    fn break_cycle(&mut self, member: u32) {
        let key = |node: u32| (self.spans[node as usize].start_ns, node);
        let mut earliest = member;
        let mut node = self.parents[member as usize];
        while node != member {
            if key(node) < key(earliest) {
                earliest = node;
            }
            node = self.parents[node as usize];
        }
        self.parents[earliest as usize] = NONE;
        self.losses.cycles += 1;
    }

    fn walk_down(&mut self) {
        let nodes = 0..self.spans.len() as u32;
        self.order = nodes
            .filter(|&node| self.parents[node as usize] == NONE)
            .collect();
        let mut next = 0;
        while next < self.order.len() {
            self.order
                .extend_from_slice(self.children.get(self.order[next]));
            next += 1;
        }
        assert_eq!(
            self.order.len(),
            self.spans.len(),
            "every span hangs under a root"
        );
    }

    fn measure_self(&mut self) {
        self.self_ns = self.spans.iter().map(Span::duration_ns).collect();
        let spans = &self.spans;
        for (node, span) in (0u32..).zip(spans) {
            let children = self.children.get_mut(node);
            if children.is_empty() {
                continue;
            }
            children.sort_unstable_by_key(|&child| (spans[child as usize].start_ns, child));
            let (mut covered, mut reached) = (0, span.start_ns);
            for child in children.iter().map(|&child| &spans[child as usize]) {
                let inside = child.start_ns >= span.start_ns && child.end_ns <= span.end_ns;
                self.losses.outside_parent += u64::from(!inside);
                let start = child.start_ns.max(reached);
                let end = child.end_ns.min(span.end_ns);
                if end > start {
                    covered += end - start;
                    reached = end;
                }
            }
            self.self_ns[node as usize] -= covered;
        }
    }

    /// Re-hangs what is too deep under the ancestor above the last level, after self time is known.
    fn limit_depth(&mut self) {
        let mut depths = vec![1u32; self.spans.len()];
        let deep_before = self.losses.deep_spans;
        for &node in &self.order {
            let parent = self.parents[node as usize];
            if parent == NONE {
                continue;
            }
            let above = depths[parent as usize];
            if above == DEPTH_MAX {
                self.parents[node as usize] = self.parents[parent as usize];
                self.losses.deep_spans += 1;
            }
            depths[node as usize] = (above + 1).min(DEPTH_MAX);
        }
        if self.losses.deep_spans > deep_before {
            self.children = Children::of(&self.parents);
        }
    }
}
