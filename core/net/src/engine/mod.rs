//! The engine fires one replication of a net, one firing after the other.
//!
//! The firing rule is as follows. A token is in its place from the time at which it becomes
//! available. All tokens that become available at one instant arrive before anything fires. Among
//! enabled transitions the highest priority fires first. Among equal priorities the transition
//! fires first whose binding has been complete for longest, by the arrival of the binding's last
//! token. If two bindings have the same last token, the transition that is defined first fires.
//!
//! A transition's binding is the first one in the order of its arcs, where each place orders its
//! tokens by its discipline. Tokens of random places are drawn when the transition fires: one of
//! those that fit, or, if the guard compares tokens, an order in which they are tried. Several
//! transitions with weights may compete for a token. If one of them is the next to fire by the rule
//! above, the transition that fires is drawn among them by weight.

mod chain;
mod delay;
mod draw;
mod event;
mod event_heap;
pub(crate) mod event_list;
mod event_queue;
mod few_events;
mod later_events;
pub(crate) mod law;
pub(crate) mod law_sums;
pub(crate) mod outputs;
mod search;
mod weights;

use crate::clock::seconds;
use crate::compiled::{output_context, CompiledNet, Transition};
use crate::error::{NetError, Result};
use crate::expression::Fault;
use crate::marking::bucket::NONE;
use crate::marking::{GuardFault, Marking, Tokens};
use crate::monitor::{Monitor, Plan, PlanKind};
use crate::stream::Stream;
use chain::Chain;
use event_list::EventList;
use law_sums::Laws;
use search::Search;

/// One firing of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// Simulated time in nanoseconds.
    pub time_ns: u64,
    /// The transition's index in the net.
    pub transition: usize,
}

/// One replication of a net.
#[derive(Debug)]
pub struct Engine<'n> {
    pub(crate) net: &'n CompiledNet,
    pub(crate) marking: Marking<'n>,
    pub(crate) events: EventList,
    pub(crate) streams: Vec<Stream>,
    search: Search,
    /// One sort key for each enabled transition, unordered. `position` has, for each transition,
    /// the index of its key in this list; NONE if the transition has no key.
    enabled: Vec<Turn>,
    position: Vec<u32>,
    /// The numbers of the tokens in the binding of each enabled transition. The tokens of
    /// transition t begin at t x `arcs_max`, where `arcs_max` is the largest number of input arcs
    /// of a transition. A random place's token is drawn later, so its entry is any fitting token.
    found: Vec<u32>,
    arcs_max: usize,
    pub(crate) monitors: Vec<Monitor<'n>>,
    /// The indices of the monitors that observe each transition.
    watched: Vec<Vec<u32>>,
    pub(crate) observes: bool,
    /// Sums from which the conservation of tokens, Little's law and the utilisation law are
    /// checked. If the run has no stations, the sums for the last two laws are empty.
    pub(crate) laws: Laws,
    pub(crate) firings: u64,
    /// Number of firings of each transition.
    pub(crate) fired: Vec<u64>,
}

/// Sort key of an enabled transition, packed into one number. It has three parts: the priority
/// level, the arrival number of the token that arrived last among the tokens of the binding, and
/// the index of the transition. The transition with the smallest key fires next.
pub(crate) type Turn = u128;

fn turn(level: u32, arrival: u64, transition: usize) -> Turn {
    (u128::from(level) << 96) | (u128::from(arrival) << 32) | transition as u128
}

fn transition_of(turn: Turn) -> usize {
    turn as u32 as usize
}

impl<'n> Engine<'n> {
    /// Creates a replication at time zero, with the initial tokens and no monitor.
    pub fn new(net: &'n CompiledNet, seed: u64, replication: u64) -> Result<Self> {
        Self::create(net, &[], (seed, replication), true)
    }

    /// Creates a replication for `run`, with the monitors of `plans`. If the net has a
    /// `ClusterPlan`, a run over clusters fires it, so the initial tokens enter no cells here.
    pub(crate) fn observed(
        net: &'n CompiledNet,
        plans: &'n [Plan],
        seed: u64,
        replication: u64,
    ) -> Result<Self> {
        let enters_cells = net.cluster_plan.is_none();
        Self::create(net, plans, (seed, replication), enters_cells)
    }

    /// Creates a replication at time zero. `enters_cells` says whether the initial tokens enter
    /// cells. Transitions of clusters find tokens only in cells.
    fn create(
        net: &'n CompiledNet,
        plans: &'n [Plan],
        (seed, replication): (u64, u64),
        enters_cells: bool,
    ) -> Result<Self> {
        let transitions = net.transitions.len();
        let stream = |index: usize| Stream::new(seed, replication, index as u64);
        let mut watched = vec![Vec::new(); transitions];
        for (index, plan) in plans.iter().enumerate() {
            plan.transitions()
                .iter()
                .for_each(|&at| watched[at].push(index as u32));
        }
        let arcs = net.transitions.iter().map(|one| one.inputs.len());
        let arcs_max = arcs.max().unwrap_or(0);
        let mut engine = Self {
            net,
            marking: Marking::new(net),
            events: EventList::new(net.lines),
            streams: (0..=transitions).map(stream).collect(),
            search: Search::new(net),
            enabled: Vec::with_capacity(transitions),
            position: vec![NONE; transitions],
            found: vec![NONE; transitions * arcs_max],
            arcs_max,
            monitors: plans.iter().map(Monitor::new).collect(),
            watched,
            observes: true,
            laws: Laws::default(),
            firings: 0,
            fired: vec![0; transitions],
        };
        engine.watch_places(plans);
        engine.marking.enters_cells = enters_cells;
        for (place, definition) in net.places.iter().enumerate() {
            for row in &definition.initial {
                let token = engine.marking.make(place as u32);
                let start = token as usize * net.stride;
                engine.marking.rows[start..start + row.len()].copy_from_slice(row);
                engine.arrive(token)?;
            }
        }
        Ok(engine)
    }

    /// Starts time integrals at the present time. There is one for each place that a marking
    /// monitor in `plans` observes: the integral of the number of its tokens.
    pub(crate) fn watch_places(&mut self, plans: &[Plan]) {
        for plan in plans {
            if let PlanKind::Marking { place } = plan.kind {
                self.marking.watch(place);
            }
        }
    }

    /// Fires one transition if any is enabled at the present time. Returns its index, or None.
    #[inline]
    pub(crate) fn fire_now(&mut self) -> Result<Option<usize>> {
        self.update_enabled()?;
        let Some(first) = self.first_turn() else {
            return Ok(None);
        };
        let mut transition = transition_of(first);
        if !self.net.transitions[transition].rivals.is_empty() {
            transition = self.choose_by_weight(transition);
        }
        self.fire(transition)?;
        if self.net.has_lists {
            self.marking.sweep_lists();
        }
        Ok(Some(transition))
    }

    /// Updates which transitions are enabled, if their input places changed since the last call.
    #[inline(always)]
    pub(crate) fn update_enabled(&mut self) -> Result<()> {
        while let Some(transition) = self.marking.next_dirty() {
            self.look_again(transition as usize)?;
        }
        Ok(())
    }

    /// The smallest sort key among the enabled transitions; None if no transition is enabled.
    #[inline(always)]
    pub(crate) fn first_turn(&self) -> Option<Turn> {
        self.enabled.iter().min().copied()
    }

    /// The earliest time in nanoseconds at which a token in transit becomes available; None if no
    /// token is in transit.
    #[inline]
    pub(crate) fn next_time_ns(&self) -> Option<u64> {
        self.events.next_time_ns()
    }

    /// Moves simulated time to the next event. All tokens that become available at that time arrive
    /// in their places.
    pub(crate) fn advance(&mut self) -> Result<()> {
        let Some(time_ns) = self.events.next_time_ns() else {
            return Ok(());
        };
        self.marking.now_ns = time_ns;
        while self.events.next_time_ns() == Some(time_ns) {
            let mut token = self.events.pop().expect("an event was found").first_token();
            while token != NONE {
                let next = self.marking.nodes.tokens[token as usize].next;
                self.arrive(token)?;
                token = next;
            }
        }
        Ok(())
    }

    /// Moves simulated time forward as far as necessary and fires one transition. Returns None when
    /// nothing can fire any more.
    pub fn step(&mut self) -> Result<Option<Firing>> {
        loop {
            if let Some(transition) = self.fire_now()? {
                return Ok(Some(Firing {
                    time_ns: self.marking.now_ns,
                    transition,
                }));
            }
            if self.events.next_time_ns().is_none() {
                return Ok(None);
            }
            self.advance()?;
        }
    }

    /// Whether a monitor observes the firings of a transition.
    #[inline(always)]
    pub(crate) fn is_watched(&self, transition: usize) -> bool {
        !self.watched[transition].is_empty()
    }

    /// The indices of the monitors that observe a transition.
    pub(crate) fn watchers(&self, transition: usize) -> &[u32] {
        &self.watched[transition]
    }

    /// Replaces all tokens, waiting or in transit, by `tokens`. No token is in transit afterwards.
    pub(crate) fn refill(&mut self, tokens: Tokens) -> Result<()> {
        self.events = EventList::new(self.net.lines);
        self.enabled.clear();
        self.position.fill(NONE);
        match self.marking.refill(tokens) {
            true => Ok(()),
            false => Err(self.guard_failed()),
        }
    }

    /// Removes all tokens from their places and frees them. Before this call, the caller must take
    /// the pending events, which refer to the tokens in transit.
    pub(crate) fn remove_tokens(&mut self) {
        self.enabled.clear();
        self.position.fill(NONE);
        self.marking.remove_tokens();
    }

    /// The field values of the tokens available in a place, one row for each token, in order of
    /// arrival.
    pub fn rows(&self, place: usize) -> Vec<Vec<u64>> {
        self.marking.rows_of(place)
    }

    #[inline(always)]
    pub(crate) fn arrive(&mut self, token: u32) -> Result<()> {
        match self.marking.arrive(token) {
            true => Ok(()),
            false => Err(self.guard_failed()),
        }
    }

    #[cold]
    pub(crate) fn guard_failed(&mut self) -> NetError {
        let found = self.marking.guard_fault.take();
        let GuardFault { transition, fault } = found.expect("an arrival that fails says why");
        self.fault(transition as usize, ", guard", fault)
    }

    #[cold]
    pub(crate) fn fault(&self, transition: usize, part: &str, fault: Fault) -> NetError {
        let time_s = seconds(self.marking.now_ns);
        let context = format!("{}{part}, at {time_s} s", self.net.context(transition));
        NetError::run(context, fault.to_string())
    }

    #[cold]
    pub(crate) fn no_more_time(&self, transition: usize) -> NetError {
        let reason = "the clock left its range of 584 years; give the run an end_time_s";
        NetError::run(self.net.context(transition), reason)
    }

    /// Determines whether a transition is enabled after tokens arrived or left, and updates its
    /// sort key and its binding.
    #[inline(always)]
    fn look_again(&mut self, transition: usize) -> Result<()> {
        let definition = &self.net.transitions[transition];
        let arrival = match self.marking.is_blocked(transition) {
            true => None,
            false if definition.member.is_some() => self.first_in_cells(transition, definition),
            false if definition.searches => self.search_for(transition)?,
            false => self.first_tokens(transition, definition),
        };
        let position = self.position[transition];
        match arrival {
            Some(arrival) => {
                let entry = turn(definition.level, arrival, transition);
                if position == NONE {
                    self.position[transition] = self.enabled.len() as u32;
                    self.enabled.push(entry);
                } else {
                    self.enabled[position as usize] = entry;
                }
            }
            None if position != NONE => {
                self.position[transition] = NONE;
                self.enabled.swap_remove(position as usize);
                if let Some(&moved) = self.enabled.get(position as usize) {
                    self.position[transition_of(moved)] = position;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Finds the binding of a transition that is a member of a cluster, and stores it in `found`.
    /// Returns the arrival number of the binding's last token. None if the transition cannot fire.
    #[inline(always)]
    fn first_in_cells(&mut self, transition: usize, definition: &Transition) -> Option<u64> {
        let start = transition * self.arcs_max;
        let found = &mut self.found[start..start + definition.inputs.len()];
        let member = definition.member?;
        self.marking.first_in_cells(transition, member, found)
    }

    /// Takes the first token of each bucket as the transition's binding. Returns the largest
    /// arrival number among these tokens; tokens of random places do not count. None if a bucket is
    /// empty.
    #[inline(always)]
    fn first_tokens(&mut self, transition: usize, definition: &Transition) -> Option<u64> {
        let group = match definition.joined.is_empty() {
            true => None,
            false => Some(self.marking.first_ready(transition)?),
        };
        let start = transition * self.arcs_max;
        let found = &mut self.found[start..start + definition.inputs.len()];
        let mut latest = 0;
        for (input, found) in definition.inputs.iter().zip(found) {
            let node = self.marking.bucket_of(input, group).first();
            if node == NONE {
                return None;
            }
            let token = self.marking.nodes.token_of(node);
            *found = token;
            if !input.random {
                latest = latest.max(self.marking.nodes.tokens[token as usize].arrival);
            }
        }
        Some(latest)
    }

    #[inline(never)]
    fn search_for(&mut self, transition: usize) -> Result<Option<u64>> {
        let start = transition * self.arcs_max;
        let arcs = self.net.transitions[transition].inputs.len();
        let found = &mut self.found[start..start + arcs];
        let answer = self.search.run(self.net, &self.marking, transition, found);
        match answer {
            Ok(true) => {
                let inputs = self.net.transitions[transition].inputs.iter();
                let fixed = inputs.zip(found).filter(|(input, _)| !input.random);
                let arrivals =
                    fixed.map(|(_, token)| self.marking.nodes.tokens[*token as usize].arrival);
                Ok(Some(arrivals.max().unwrap_or(0)))
            }
            Ok(false) => Ok(None),
            Err(fault) => Err(self.fault(transition, ", guard", fault)),
        }
    }

    /// The tokens in the binding of an enabled transition, by number, one for each input arc.
    /// For an arc from a place with the discipline `random`, it is an arbitrary fitting token.
    #[inline]
    pub(crate) fn bound(&self, transition: usize) -> &[u32] {
        let start = transition * self.arcs_max;
        &self.found[start..start + self.net.transitions[transition].inputs.len()]
    }

    /// Fires a transition: takes the tokens of its binding and makes the tokens of its output arcs.
    fn fire(&mut self, transition: usize) -> Result<()> {
        self.firings += 1;
        self.fired[transition] += 1;
        // The stored bindings are moved out instead of copied: nothing searches for bindings during
        // a firing.
        let found = std::mem::take(&mut self.found);
        let start = transition * self.arcs_max;
        let bound = &found[start..start + self.net.transitions[transition].inputs.len()];
        let answer = match self.net.transitions[transition].has_random {
            true => self
                .draw_tokens(transition, bound)
                .and_then(|drawn| self.move_tokens(transition, &drawn)),
            false => self.move_tokens(transition, bound),
        };
        self.found = found;
        answer
    }

    #[inline(always)]
    fn move_tokens(&mut self, transition: usize, chosen: &[u32]) -> Result<()> {
        let net = self.net;
        let definition = &net.transitions[transition];
        // The tokens are taken in reverse order of the arcs, because by convention the arcs to
        // servers and states come last. Once the server or the state is taken, the group of joined
        // buckets is incomplete. No new rank of the group is then computed when the other tokens
        // are taken.
        match definition.member {
            Some(member) => self.marking.take_from_cell(member, transition, chosen),
            None => chosen
                .iter()
                .rev()
                .for_each(|&token| self.marking.take(token)),
        }
        for &place in &definition.reset {
            self.marking.empty(place);
        }
        if !definition.locals.is_empty() {
            self.compute_locals(transition, chosen)?;
        }
        if !self.watched[transition].is_empty() {
            self.notify_monitors(transition, chosen)?;
        }
        let base_ns = match &definition.delay {
            None => 0,
            Some(delay) => self.delay(delay, transition, None, chosen)?,
        };
        let mut chain = Chain::new(base_ns);
        for (arc, output) in definition.outputs.iter().enumerate() {
            match output.count {
                None => self.put(transition, (arc, output), chosen, &mut chain)?,
                Some(_) => self.put_counted(transition, (arc, output), chosen, &mut chain)?,
            }
        }
        if chain.first != NONE {
            self.schedule(&chain);
        }
        for &arc in &definition.released {
            self.marking.release(chosen[arc as usize]);
        }
        Ok(())
    }

    /// The text that names an output arc in an error message, after the name of the transition.
    pub(crate) fn arc_words(&self, transition: usize, arc: usize) -> String {
        let definition = &self.net.transitions[transition];
        let place = &self.net.places[definition.outputs[arc].place as usize].name;
        let whole = output_context(&definition.page, &definition.name, arc, place);
        whole[self.net.context(transition).len()..].to_owned()
    }

    #[cold]
    fn notify_monitors(&mut self, transition: usize, chosen: &[u32]) -> Result<()> {
        let mut unused = Stream::new(0, 0, 0);
        for &index in &self.watched[transition] {
            let binding = self.marking.binding(chosen);
            let monitor = &mut self.monitors[index as usize];
            let now_ns = self.marking.now_ns;
            let observed = monitor.fired(transition, now_ns, binding, self.observes, &mut unused);
            observed
                .map_err(|fault| self.fault(transition, &format!(", monitor {index}"), fault))?;
        }
        Ok(())
    }
}
