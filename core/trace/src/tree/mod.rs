//! Reconstructs call trees from spans that may be in any order, duplicated, without parents or in
//! cycles.

mod attempts;
mod canonical;
pub(crate) mod clocks;
pub(crate) mod shape;

use crate::span::losses::SpanLosses;
use crate::span::{Span, SpanStore, Texts};
use crate::tree::canonical::Walk;

pub use crate::span::{DEPTH_MAX, NONE};

/// The children of every node of a forest. The children of one node are a range of one list.
#[derive(Clone, Debug, Default)]
pub struct Children {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Children {
    /// Computes the lists of children from the parent of each node. The memory of the previous
    /// lists is reused.
    fn fill(&mut self, parents: &[u32]) {
        let starts = &mut self.starts;
        starts.clear();
        // `starts` is computed in three steps. First, entry n + 2 is the number of children of node
        // n. Then, the entries are summed, so that entry n + 1 is the start of the list of node n.
        // While the list is filled, entry n + 1 advances to the end of the list, which is the start
        // of the list of node n + 1.
        starts.resize(parents.len() + 2, 0);
        for &parent in parents.iter().filter(|&&parent| parent != NONE) {
            starts[parent as usize + 2] += 1;
        }
        for index in 2..starts.len() {
            starts[index] += starts[index - 1];
        }
        self.items.clear();
        self.items.resize(starts[parents.len() + 1] as usize, 0);
        for (node, &parent) in (0u32..).zip(parents) {
            if parent != NONE {
                let free = &mut starts[parent as usize + 1];
                self.items[*free as usize] = node;
                *free += 1;
            }
        }
    }

    /// The indices of a node's children.
    pub fn get(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    fn get_mut(&mut self, node: u32) -> &mut [u32] {
        let node = node as usize;
        &mut self.items[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// Call trees. Each span is a node, and nodes refer to each other by index.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The spans, sorted by trace and span id, without duplicates.
    pub spans: Vec<Span>,
    /// Index of the parent of each span, or `NONE` for a root.
    pub parents: Vec<u32>,
    /// The children of each span.
    pub children: Children,
    /// The indices of all nodes; parents precede their children.
    pub order: Vec<u32>,
    /// Self time of each span, ns. The self time is the duration of the span minus the time in
    /// which at least one child runs. The time of a child outside the span is not subtracted.
    pub self_ns: Vec<u64>,
    /// For each call, whether it is a failed attempt that its caller retried. Empty if there are no
    /// such calls.
    pub again: Vec<bool>,
    /// The texts of names, services and hosts.
    pub texts: Texts,
    /// Numbers of spans that reading and reconstruction repaired or dropped.
    pub losses: SpanLosses,
    walk: Walk,
}

impl Forest {
    /// Reconstructs the call trees of all spans in a store. The result does not depend on the order
    /// of the spans.
    ///
    /// # Panics
    ///
    /// For 2^32 - 1 spans or more.
    pub fn recover(store: SpanStore) -> Self {
        let mut forest = Self {
            spans: store.spans,
            losses: store.losses,
            ..Self::default()
        };
        forest.untangle(&store.texts, false);
        forest.texts = store.texts;
        forest
    }

    /// Reconstructs call trees from spans in which the spans of each trace are consecutive.
    pub(crate) fn of_traces(spans: Vec<Span>, texts: Texts) -> Self {
        let mut forest = Self {
            spans,
            ..Self::default()
        };
        forest.untangle(&texts, true);
        forest.texts = texts;
        forest
    }

    /// Reconstructs the call trees of `self.spans`, which may be damaged. Counts repaired and
    /// dropped spans in `self.losses`. `grouped` says whether the spans of each trace are
    /// consecutive. The memory of the previous trees is reused.
    pub(crate) fn untangle(&mut self, texts: &Texts, grouped: bool) {
        assert!(
            self.spans.len() < NONE as usize,
            "more spans than one forest can number"
        );
        let tidy = grouped && self.is_tidy();
        if tidy {
            self.children.fill(&self.parents);
            self.walk_down(true);
        } else {
            self.repair(texts, grouped);
        }
        if texts.has_weights() {
            self.spread_weights();
        }
        if !tidy {
            self.limit_depth();
        }
    }

    /// Returns whether the spans are in canonical form (module `canonical`). If so, computes
    /// parents and self times.
    fn is_tidy(&mut self) -> bool {
        let (parents, self_ns) = (&mut self.parents, &mut self.self_ns);
        let tidy = self.walk.link(&self.spans, parents, self_ns);
        if tidy {
            self.losses.outside_parent += self.walk.outside;
            self.again.clear();
        }
        tidy
    }

    /// Reconstructs the trees of spans that are not in canonical form.
    fn repair(&mut self, texts: &Texts, grouped: bool) {
        self.keep_one_each(texts, grouped);
        let downwards = self.find_parents();
        if !downwards {
            self.break_cycles();
        }
        self.children.fill(&self.parents);
        self.walk_down(downwards);
        self.measure_self();
    }

    /// Sets the sampling weight of each span that has none. The span gets the weight of its parent
    /// or, if the parent has none, the weight of another span of its trace.
    fn spread_weights(&mut self) {
        for &node in &self.order {
            let parent = self.parents[node as usize];
            if parent != NONE && self.spans[node as usize].sampling == 0 {
                self.spans[node as usize].sampling = self.spans[parent as usize].sampling;
            }
        }
        let same = |left: &Span, right: &Span| left.trace_id == right.trace_id;
        for trace in self.spans.chunk_by_mut(same) {
            let reported = trace
                .iter()
                .map(|span| span.sampling)
                .find(|&reported| reported != 0);
            for span in trace.iter_mut().filter(|span| span.sampling == 0) {
                span.sampling = reported.unwrap_or(0);
            }
        }
    }

    /// Whether a call is a failed attempt that its caller retried.
    #[inline]
    pub fn is_again(&self, node: u32) -> bool {
        self.again.get(node as usize).is_some_and(|&again| again)
    }

    /// The number of trees, which is the number of roots.
    pub fn trees(&self) -> u64 {
        self.parents
            .iter()
            .filter(|&&parent| parent == NONE)
            .count() as u64
    }

    fn keep_one_each(&mut self, texts: &Texts, grouped: bool) {
        // Usually no sorting is needed, since programs number their spans in order.
        let follows = |pair: &[Span]| {
            let same = pair[0].trace_id == pair[1].trace_id;
            !same || pair[0].span_id < pair[1].span_id
        };
        let sound = |span: &Span| span.end_ns >= span.start_ns;
        if grouped && self.spans.windows(2).all(follows) && self.spans.iter().all(sound) {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let mut keys: Vec<(u128, u64, u32)> = (0u32..)
            .zip(&spans)
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

    /// Returns the longest of the spans `claims`, which all have the same id. The shorter spans
    /// were probably truncated. Counts all spans except the longest as duplicates in the losses.
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
                span.sampling,
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

    /// Finds the parent of each span. Returns whether every parent precedes its children, which
    /// excludes cycles.
    fn find_parents(&mut self) -> bool {
        self.parents.clear();
        self.parents.resize(self.spans.len(), NONE);
        let (mut start, mut downwards) = (0, true);
        for trace in self
            .spans
            .chunk_by(|left, right| left.trace_id == right.trace_id)
        {
            // Siblings are usually adjacent, so the parent of the previous span is tried first.
            let mut latest = (0, 0);
            for (place, span) in trace.iter().enumerate() {
                if span.parent_id == span.span_id {
                    self.losses.self_parents += 1;
                } else if span.parent_id != 0 {
                    if span.parent_id != latest.0 {
                        let Some(parent) = find(trace, place, span.parent_id) else {
                            self.losses.missing_parents += 1;
                            continue;
                        };
                        latest = (span.parent_id, parent);
                    }
                    downwards &= latest.1 < place;
                    self.parents[start + place] = (start + latest.1) as u32;
                }
            }
            start += trace.len();
        }
        downwards
    }

    fn break_cycles(&mut self) {
        let mut walked_by = vec![NONE; self.spans.len()];
        for walk in 0..self.spans.len() as u32 {
            let mut node = walk;
            while node != NONE && walked_by[node as usize] == NONE {
                walked_by[node as usize] = walk;
                node = self.parents[node as usize];
            }
            // If a walk meets a node that it has already visited, there is a cycle.
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

    fn walk_down(&mut self, downwards: bool) {
        let nodes = 0..self.spans.len() as u32;
        self.order.clear();
        if downwards {
            self.order.extend(nodes);
            return;
        }
        self.order
            .extend(nodes.filter(|&node| self.parents[node as usize] == NONE));
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
        self.self_ns.clear();
        self.self_ns
            .extend(self.spans.iter().map(Span::duration_ns));
        self.again.clear();
        let spans = &self.spans;
        for (node, span) in (0u32..).zip(spans) {
            let children = self.children.get_mut(node);
            if children.is_empty() {
                continue;
            }
            let begin = |&child: &u32| (spans[child as usize].start_ns, child);
            if !children.is_sorted_by_key(begin) {
                children.sort_unstable_by_key(begin);
            }
            let (mut covered, mut reached, mut failed) = (0, span.start_ns, false);
            for child in children.iter().map(|&child| &spans[child as usize]) {
                let inside = child.start_ns >= span.start_ns && child.end_ns <= span.end_ns;
                self.losses.outside_parent += u64::from(!inside);
                failed |= child.status_error;
                let start = child.start_ns.max(reached);
                let end = child.end_ns.min(span.end_ns);
                if end > start {
                    covered += end - start;
                    reached = end;
                }
            }
            self.self_ns[node as usize] -= covered;
            if failed {
                self.again.resize(spans.len(), false);
                attempts::mark(spans, children, &mut self.again);
            }
        }
    }

    /// Drops the calls for which `keep` is false. `around` has the nearest kept caller of each
    /// call. This caller becomes the parent of a kept call. The self time of a dropped call is
    /// added to this caller's self time.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool, around: &[u32]) {
        let mut places = vec![NONE; self.spans.len()];
        let kept: Vec<usize> = (0..self.spans.len()).filter(|&node| keep(node)).collect();
        for (place, &node) in kept.iter().enumerate() {
            places[node] = place as u32;
            self.spans[place] = self.spans[node];
        }
        self.spans.truncate(kept.len());
        let place_of = |above: u32| match above {
            NONE => NONE,
            above => places[above as usize],
        };
        self.parents = kept.iter().map(|&node| place_of(around[node])).collect();
        let mut linked = self.parents.iter().enumerate();
        let downwards = linked.all(|(node, &parent)| parent == NONE || (parent as usize) < node);
        let outside = self.losses.outside_parent;
        self.children.fill(&self.parents);
        self.walk_down(downwards);
        self.measure_self();
        // Restores the number of calls that extend beyond their parents: these calls were counted
        // before calls were dropped.
        self.losses.outside_parent = outside;
    }

    /// Moves every call below the deepest level (`DEPTH_MAX`) up to this level. The call becomes a
    /// child of that ancestor which is one level above the deepest level. Self times are unchanged.
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
            self.children.fill(&self.parents);
        }
    }
}

/// Finds the position of the span `parent_id` in a trace sorted by span id. `place` is the position
/// of the child; the search begins at a guess that is computed from `place`. None if the trace has
/// no such span.
fn find(trace: &[Span], place: usize, parent_id: u64) -> Option<usize> {
    // If the ids of a trace are consecutive numbers, as those of a counter are, the parent's
    // position follows from the difference of the two ids.
    let back = trace[place].span_id.wrapping_sub(parent_id);
    let guess = place.wrapping_sub(back as usize);
    if trace
        .get(guess)
        .is_some_and(|span| span.span_id == parent_id)
    {
        return Some(guess);
    }
    trace
        .binary_search_by_key(&parent_id, |span| span.span_id)
        .ok()
}
