//! The marking of a net: every token and, for each input arc, the waiting tokens that fit the arc.
//!
//! A token in a place is in one bucket for each input arc whose condition it meets. If an arc is
//! joined with other arcs by equal fields, it has a bucket for each value of these fields (the
//! key). The buckets of one transition and key form a group. A group is ready when none of its
//! buckets is empty. To keep this up to date, an arriving or leaving token changes only its
//! buckets. The cost therefore does not depend on the number of waiting tokens.

mod area;
pub(crate) mod bucket;
mod cell;
mod cells;
mod group;
mod integral;
mod join;
mod ranked;
mod transfer;
mod unfolded;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::compiled::{
    CompiledNet, Discipline, Dispatch, Filter, Input, Key, KeyKind, View, KEY_FIELDS_MAX,
};
use crate::expression::{evaluate, Binding, Fault, Instruction};
use crate::lists::Lists;
use crate::stream::Stream;
pub(crate) use area::Area;
use area::Stays;
use bucket::{rank_of, reserve, Bucket, Member, Nodes, Token, NONE};
use cell::Cells;
pub(crate) use group::{direct_limits, KeyHasher};
use group::{Group, Join};
use ranked::Rank;
pub(crate) use transfer::Tokens;

/// A guard whose evaluation failed when a token arrived. The marking stores the failure here. The
/// functions for arrivals therefore return only true (success) or false.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardFault {
    pub(crate) transition: u32,
    pub(crate) fault: Fault,
}

#[derive(Debug)]
pub(crate) struct Marking<'n> {
    net: &'n CompiledNet,
    pub(crate) now_ns: u64,
    pub(crate) rows: Vec<u64>,
    pub(crate) lists: RefCell<Lists>,
    /// The locals of the firing transition (values computed once per firing), followed by the
    /// parameter `turn`. If an output arc makes several tokens, `turn` is the number of the present
    /// token.
    pub(crate) parameters: Vec<u64>,
    free_token: u32,
    /// Number of tokens, both in places and in transit.
    pub(crate) live: usize,
    pub(crate) nodes: Nodes,
    /// All buckets. A view is the set of tokens that meet the condition of one input arc. If the
    /// arc is not joined with other arcs, its view has one bucket, with the same number as the
    /// view.
    buckets: Vec<Bucket>,
    /// For each view, a table from a value of its only joined field to the bucket of this value. It
    /// has only values below the limit in `direct_limits`.
    direct: Vec<Vec<u32>>,
    /// For each transition, the limit below which values of a joined field are looked up in
    /// `direct`.
    direct_limits: Vec<u64>,
    groups: Vec<Group>,
    /// For each group, the values of the joined fields that its tokens have in common.
    group_keys: Vec<Key>,
    joins: Vec<Join>,
    /// The waiting tokens of all clusters (transitions that share input places, and these places).
    cells: Cells,
    /// Whether arriving tokens enter the cells. False if `cluster_run` will fire the net, because
    /// it stores waiting tokens in cells of another form (`cluster_run::cells`).
    pub(crate) enters_cells: bool,
    pub(crate) counts: Vec<u32>,
    /// For each place with reset arcs, its tokens by arrival number.
    listed: Vec<BTreeMap<u64, u32>>,
    areas: Vec<Option<Area>>,
    /// For each place at which Little's law is asserted, the stays of its tokens.
    stays: Vec<Option<Box<Stays>>>,
    /// Whether the tokens of a place are counted: true if the place has inhibitor or reset arcs, or
    /// a time integral.
    counted: Vec<bool>,
    /// For each transition, the number of its inhibitor arcs that block it now.
    blocked: Vec<u32>,
    pub(crate) dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    arrivals: u64,
    pub(crate) guard_fault: Option<GuardFault>,
    /// A random stream that is never used. Guards draw nothing, but the function that evaluates
    /// code takes a stream.
    unused_stream: Stream,
}

impl<'n> Marking<'n> {
    pub(crate) fn new(net: &'n CompiledNet) -> Self {
        let transitions = net.transitions.len();
        Self {
            net,
            now_ns: 0,
            rows: Vec::new(),
            lists: RefCell::new(net.lists.clone()),
            parameters: vec![0; net.parameters_max()],
            free_token: NONE,
            live: 0,
            nodes: Nodes::default(),
            buckets: net
                .views
                .iter()
                .map(|view| Bucket::new(view, NONE))
                .collect(),
            direct: vec![Vec::new(); net.views.len()],
            direct_limits: direct_limits(net),
            groups: Vec::new(),
            group_keys: Vec::new(),
            joins: (0..transitions).map(|_| Join::default()).collect(),
            cells: Cells::new(net),
            enters_cells: true,
            counts: vec![0; net.places.len()],
            listed: vec![BTreeMap::new(); net.places.len()],
            areas: vec![None; net.places.len()],
            stays: vec![None; net.places.len()],
            counted: net
                .places
                .iter()
                .map(|place| !place.inhibits.is_empty() || place.resets)
                .collect(),
            blocked: vec![0; transitions],
            dirty: (0..transitions as u32).collect(),
            is_dirty: vec![true; transitions],
            arrivals: 0,
            guard_fault: None,
            unused_stream: Stream::new(0, 0, 0),
        }
    }

    /// Makes a token for a place. The token is not yet available, and its field values are not yet
    /// set. Returns its number.
    #[inline]
    pub(crate) fn make(&mut self, place: u32) -> u32 {
        self.live += 1;
        let token = Token::new(place);
        if self.free_token == NONE {
            reserve(&mut self.rows, self.net.stride);
            self.rows.resize(self.rows.len() + self.net.stride, 0);
            return self.nodes.add_token(token);
        }
        let index = self.free_token;
        self.free_token = self.nodes.tokens[index as usize].next;
        self.nodes.tokens[index as usize] = token;
        index
    }

    /// Changes the place of a token that was taken from its old place. The token keeps its field
    /// values. It is not available in the new place yet.
    #[inline]
    pub(crate) fn forward(&mut self, token: u32, place: u32) {
        let token = &mut self.nodes.tokens[token as usize];
        token.arrival = 0;
        token.place = place;
        token.next = NONE;
    }

    /// Frees the storage of a token that was taken.
    #[inline]
    pub(crate) fn release(&mut self, token: u32) {
        self.live -= 1;
        self.nodes.tokens[token as usize].next = self.free_token;
        self.free_token = token;
    }

    #[inline]
    pub(crate) fn binding<'a>(&'a self, tokens: &'a [u32]) -> Binding<'a> {
        Binding {
            rows: &self.rows,
            stride: self.net.stride,
            tokens,
            library: &self.net.library,
            parameters: &self.parameters,
            depth: 0,
            now_ns: self.now_ns,
            lists: &self.lists,
        }
    }

    #[inline]
    pub(crate) fn row(&self, token: u32) -> &[u64] {
        let start = token as usize * self.net.stride;
        &self.rows[start..start + self.net.stride]
    }

    #[inline]
    fn touch(&mut self, transition: u32) {
        if !std::mem::replace(&mut self.is_dirty[transition as usize], true) {
            self.dirty.push(transition);
        }
    }

    /// Removes and returns the next transition whose enabling may have changed.
    #[inline]
    pub(crate) fn next_dirty(&mut self) -> Option<u32> {
        let transition = self.dirty.pop()?;
        self.is_dirty[transition as usize] = false;
        Some(transition)
    }

    #[inline]
    pub(crate) fn is_blocked(&self, transition: usize) -> bool {
        self.blocked[transition] > 0
    }

    /// Makes a token available in its place. Returns false if the evaluation of a guard fails; the
    /// failure is then in `guard_fault`.
    #[must_use]
    pub(crate) fn arrive(&mut self, token: u32) -> bool {
        let net = self.net;
        let place = self.nodes.tokens[token as usize].place;
        let definition = &net.places[place as usize];
        self.arrivals += 1;
        self.nodes.tokens[token as usize].arrival = self.arrivals;
        if self.counted[place as usize] {
            self.count(place, token, 1);
        }
        if let Some(seat) = &definition.seat {
            return !self.enters_cells || self.sit(token, seat);
        }
        let mut good = true;
        for &view in &definition.views {
            good &= self.enter(token, view);
        }
        match &definition.dispatch {
            None => good,
            Some(dispatch) => good & self.enter_dispatched(token, dispatch),
        }
    }

    /// Adds a token to buckets of the input arcs that require a certain value of the field
    /// `dispatch.field`: those whose value the token has. Returns false if the evaluation of a
    /// guard fails.
    fn enter_dispatched(&mut self, token: u32, dispatch: &Dispatch) -> bool {
        let word = self.row(token)[dispatch.field as usize];
        let views = dispatch.of(word).iter();
        views.fold(true, |good, &view| good & self.enter(token, view))
    }

    /// Removes a token from its place. Its field values stay readable until `release` frees it.
    #[inline]
    pub(crate) fn take(&mut self, token: u32) {
        let Token { place, nodes, .. } = self.nodes.tokens[token as usize];
        if self.counted[place as usize] {
            self.count(place, token, -1);
        }
        let mut node = nodes;
        while node != NONE {
            let member = self.nodes.member(node);
            self.leave(node, member);
            node = member.sibling;
        }
        self.nodes.tokens[token as usize].nodes = NONE;
    }

    /// Takes and frees all tokens of a place that has a reset arc, in order of arrival.
    pub(crate) fn empty(&mut self, place: u32) {
        while let Some((_, &token)) = self.listed[place as usize].first_key_value() {
            self.take(token);
            self.release(token);
        }
    }

    /// Changes the number of available tokens of a place by `change`, which is 1 or -1. Updates the
    /// place's time integral, the list of its tokens, and the transitions that inhibitor arcs
    /// block.
    #[inline(never)]
    pub(crate) fn count(&mut self, place: u32, token: u32, change: i32) {
        let old = self.counts[place as usize];
        let new = old.wrapping_add_signed(change);
        self.counts[place as usize] = new;
        if self.net.places[place as usize].resets {
            let arrival = self.nodes.tokens[token as usize].arrival;
            let listed = &mut self.listed[place as usize];
            match change > 0 {
                true => listed.insert(arrival, token),
                false => listed.remove(&arrival),
            };
        }
        if let Some(area) = &mut self.areas[place as usize] {
            area.change(self.now_ns, old, new);
        }
        if let Some(stays) = &mut self.stays[place as usize] {
            stays.record(token as usize, change > 0, self.now_ns);
        }
        let net = self.net;
        let change = if new > old { 1 } else { -1 };
        for &(transition, at_least) in &net.places[place as usize].inhibits {
            if (old >= at_least) != (new >= at_least) {
                let blocked = &mut self.blocked[transition as usize];
                *blocked = blocked.wrapping_add_signed(change);
                self.touch(transition);
            }
        }
    }

    /// Whether a token meets `filter`: the conditions of an input arc on a single token.
    #[inline(always)]
    fn passes(&mut self, token: u32, filter: &Filter) -> Result<bool, Fault> {
        match filter {
            Filter::Always => Ok(true),
            Filter::Within {
                field,
                low,
                high,
                inside,
            } => {
                let found = self.rows[token as usize * self.net.stride + *field as usize] as i64;
                Ok(((*low..=*high).contains(&found)) == *inside)
            }
            Filter::Code(code) => self.passes_code(token, code),
        }
    }

    #[inline(never)]
    fn passes_code(&mut self, token: u32, code: &[Instruction]) -> Result<bool, Fault> {
        let tokens = [token];
        let binding = Binding {
            rows: &self.rows,
            stride: self.net.stride,
            tokens: &tokens,
            library: &self.net.library,
            parameters: &[],
            depth: 0,
            now_ns: self.now_ns,
            lists: &self.lists,
        };
        Ok(evaluate(code, binding, &mut self.unused_stream)? != 0)
    }

    #[inline(always)]
    fn enter(&mut self, token: u32, view: u32) -> bool {
        let net = self.net;
        let definition = &net.views[view as usize];
        let transition = definition.transition;
        match self.passes(token, &definition.filter) {
            Ok(true) => {}
            Ok(false) => return true,
            Err(fault) => return self.faulted(transition, fault),
        }
        let bucket = match definition.key_kind {
            KeyKind::None => view,
            KeyKind::One(field) => {
                let word = self.rows[token as usize * net.stride + field as usize];
                match self.direct[view as usize].get(word as usize) {
                    Some(&bucket) if bucket != NONE => bucket,
                    _ => self.bucket_of_one(transition, view, definition.slot(), word),
                }
            }
            KeyKind::Several => self.bucket_of_several(token, definition),
        };
        let (node, arrival) = self.nodes.make(token, bucket);
        let target = &mut self.buckets[bucket as usize];
        let (was_empty, group) = (target.is_empty(), target.group);
        let rank = || {
            let start = token as usize * net.stride;
            rank_of(definition.discipline, &self.rows[start..], arrival)
        };
        let is_first = target.add(&mut self.nodes, node, rank);
        let matters = (was_empty || is_first)
            && (group == NONE || self.group_gained(group, bucket, was_empty, token));
        if matters || definition.searches {
            self.touch(transition);
        }
        true
    }

    /// Stores the failure of a guard, unless an earlier failure is already stored. Always returns
    /// false.
    #[cold]
    fn faulted(&mut self, transition: u32, fault: Fault) -> bool {
        let found = GuardFault { transition, fault };
        self.guard_fault.get_or_insert(found);
        false
    }

    #[inline(never)]
    fn bucket_of_several(&mut self, token: u32, view: &View) -> u32 {
        let start = token as usize * self.net.stride;
        let mut key: Key = [0; KEY_FIELDS_MAX];
        for (word, &field) in key.iter_mut().zip(&view.keys) {
            *word = self.rows[start + field as usize];
        }
        self.bucket_of_key(view.transition, view.slot(), key)
    }

    #[inline(always)]
    fn leave(&mut self, node: u32, member: Member) {
        let bucket = member.bucket;
        let target = &mut self.buckets[bucket as usize];
        let (group, transition, searches) = (target.group, target.transition, target.searches);
        let was_first = target.remove(&mut self.nodes, node, member);
        let is_empty = target.is_empty();
        self.nodes.release(node);
        let matters = was_first && (group == NONE || self.group_lost(group, bucket, is_empty));
        if matters || searches {
            self.touch(transition);
        }
    }

    #[inline(always)]
    fn rank(&self, token: u32, discipline: Discipline) -> Rank {
        let arrival = self.nodes.tokens[token as usize].arrival;
        match discipline {
            Discipline::Fifo => (0, arrival),
            other => rank_of(other, self.row(token), arrival),
        }
    }

    /// The bucket from which an input arc takes tokens. For a joined arc it is the arc's bucket in
    /// `group`.
    #[inline(always)]
    pub(crate) fn bucket_of(&self, input: &Input, group: Option<u32>) -> &Bucket {
        let index = match (input.joined, group) {
            (Some(slot), Some(group)) => self.groups[group as usize].first_bucket + slot,
            _ => input.view,
        };
        &self.buckets[index as usize]
    }

    /// Frees the list cells to which no token refers. Does nothing while few cells are in use,
    /// since the search for unused cells takes time.
    #[cold]
    pub(crate) fn sweep_lists(&mut self) {
        if !self.lists.get_mut().is_full() {
            return;
        }
        let mut roots = Vec::new();
        for token in self.living(|_| true) {
            let place = self.nodes.tokens[token as usize].place as usize;
            for (word, field) in self.row(token).iter().zip(&self.net.places[place].fields) {
                if field.1.has_cells() {
                    roots.push((*word, field.1));
                }
            }
        }
        let definition = &self.net.definition;
        let fields = |colour| definition.fields_of(colour);
        self.lists.get_mut().sweep(roots.into_iter(), &fields);
    }

    /// The tokens that are in a place: they have arrived and are not freed.
    fn available(&self) -> impl Iterator<Item = u32> {
        self.living(|token| token.arrival > 0)
    }

    /// The tokens that are not freed and for which `holds` is true.
    fn living(&self, holds: impl Fn(&Token) -> bool) -> impl Iterator<Item = u32> {
        let mut used: Vec<bool> = self.nodes.tokens.iter().map(holds).collect();
        let mut free = self.free_token;
        while free != NONE {
            used[free as usize] = false;
            free = self.nodes.tokens[free as usize].next;
        }
        (0..self.nodes.tokens.len() as u32).filter(move |&token| used[token as usize])
    }

    /// For each place, the number of tokens in it and in transit to it.
    pub(crate) fn totals(&self) -> Vec<usize> {
        let mut totals = vec![0usize; self.net.places.len()];
        self.nodes
            .tokens
            .iter()
            .for_each(|token| totals[token.place as usize] += 1);
        let mut free = self.free_token;
        while free != NONE {
            let token = self.nodes.tokens[free as usize];
            totals[token.place as usize] -= 1;
            free = token.next;
        }
        totals
    }

    /// The index of the place with the most tokens, including the tokens in transit to the place.
    pub(crate) fn fullest_place(&self) -> usize {
        let totals = self.totals();
        (0..totals.len())
            .max_by_key(|&place| totals[place])
            .unwrap_or(0)
    }
}
