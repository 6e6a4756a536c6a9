//! Moves the tokens of an engine to a run over clusters, and back. A cluster is a group of
//! transitions that share input places.

use super::cells::{Cells, State, Turns, NO_TURN};
use super::table::Table;
use super::waiting::links;
use super::{ClusterPlan, ClusterRun, HEADER, UNKNOWN};
use crate::cluster::Cluster;
use crate::compiled::CompiledNet;
use crate::engine::event_list::EventList;
use crate::engine::Engine;
use crate::error::Result;
use crate::marking::bucket::NONE;
use crate::marking::{direct_limits, Tokens};

/// For each cluster, the limit below which values of its joined field are looked up in a table.
fn cluster_limits(net: &CompiledNet) -> Vec<u64> {
    let limits = direct_limits(net);
    let limit = |cluster: &Cluster| {
        let members = cluster.members.iter();
        let limits = members.map(|one| limits[one.transition as usize]);
        limits.max().unwrap_or(0)
    };
    net.clusters.iter().map(limit).collect()
}

impl<'e, 'n, const N: usize> ClusterRun<'e, 'n, N> {
    /// Creates a run with the tokens, the pending events and the random streams of an engine.
    pub(super) fn take_over(engine: &'e mut Engine<'n>, plan: &'n ClusterPlan) -> Self {
        let net = engine.net;
        let width = net.stride;
        let marking = &mut engine.marking;
        let rows = marking.rows.chunks_exact(width);
        let tokens = marking.nodes.tokens.iter().zip(rows);
        let records = tokens.map(|(token, row)| {
            let mut record = [0; N];
            (record[0], record[1]) = (UNKNOWN, links(token.place, token.next));
            record[HEADER..HEADER + width].copy_from_slice(row);
            record
        });
        let records = records.collect();
        let (free, waiting) = (marking.free_tokens(), marking.waiting());
        let all_counted = marking.count_nothing();
        // The run counts the tokens of a place only if no separate transition takes them. In all
        // other places the engine counts the tokens.
        let places = all_counted.iter().zip(&plan.is_separate);
        let counted: Vec<bool> = places.map(|(&counted, &other)| counted && !other).collect();
        let events = std::mem::replace(&mut engine.events, EventList::new(net.lines));
        if plan.has_separate {
            engine.remove_tokens();
        }
        let streams = engine.streams.iter().zip(&engine.fired).enumerate();
        let counts = counted.contains(&true);
        let short = !counts && !engine.laws.are_collected();
        let states = streams.map(|(at, (stream, &fired))| {
            let (this, is_watched) = (&plan.moves[at], engine.is_watched(at));
            let mut state = State::new(this.level, fired, stream.clone());
            state.is_watched = is_watched;
            state.is_short = short && !is_watched;
            state
        });
        let mut run = Self {
            plan,
            now_ns: engine.marking.now_ns,
            firings: engine.firings,
            records,
            free_token: NONE,
            live: engine.marking.live,
            arrivals: 0,
            cells: Cells::new(cluster_limits(net)),
            states: states.collect(),
            turns: Turns::default(),
            events,
            counted: vec![false; net.places.len()],
            counts: false,
            separate_turn: NO_TURN,
            has_laws: engine.laws.are_collected(),
            values: plan.values.clone(),
            is_computed: false,
            is_observed: false,
            error: None,
            engine,
        };
        for token in free {
            run.records[token as usize][1] = links(NONE, run.free_token);
            run.free_token = token;
        }
        for token in waiting {
            let place = (run.records[token as usize][1] >> 32) as u32;
            if run.arrive(token, UNKNOWN, place).is_err() {
                break;
            }
        }
        run.counted = counted;
        run.counts = counts;
        run.engine.marking.count_again(all_counted);
        run
    }

    /// Gives the tokens, the pending events and the random streams back to the engine.
    pub(super) fn give_back(mut self) -> Result<()> {
        self.give_back_counts();
        let Self {
            engine,
            records,
            events,
            ..
        } = self;
        let (count, width) = (records.len(), engine.net.stride);
        let mut tokens = Tokens {
            rows: Vec::with_capacity(count * width),
            places: Vec::with_capacity(count),
            free: Vec::new(),
            waiting: Vec::new(),
            live: self.live,
        };
        let mut travels = vec![false; count];
        // Pairs of a token in transit and the next token of the same event.
        let mut linked: Vec<(u32, u32)> = Vec::new();
        for event in events.pending() {
            let mut token = event.first_token();
            while token != NONE {
                travels[token as usize] = true;
                let next = records[token as usize][1] as u32;
                linked.push((token, next));
                token = next;
            }
        }
        let mut waiting = Vec::new();
        for (token, record) in (0u32..).zip(records.iter()) {
            let place = (record[1] >> 32) as u32;
            tokens
                .rows
                .extend_from_slice(&record[HEADER..HEADER + width]);
            tokens.places.push(if place == NONE { 0 } else { place });
            if place != NONE && !travels[token as usize] {
                waiting.push((record[0], token));
            }
        }
        waiting.sort_unstable();
        tokens.waiting = waiting.into_iter().map(|entry| entry.1).collect();
        let mut free = self.free_token;
        while free != NONE {
            tokens.free.push(free);
            free = records[free as usize][1] as u32;
        }
        drop(records);
        engine.refill(tokens)?;
        engine.events = events;
        for (token, next) in linked {
            engine.marking.nodes.tokens[token as usize].next = next;
        }
        Ok(())
    }

    /// Gives the places of the tokens, the pending events and the random streams back to the engine
    /// at the end of a replication. Nothing fires afterwards, so the engine needs neither the
    /// values of the tokens nor the lists by which transitions find them.
    pub(super) fn give_back_places(mut self) -> Result<()> {
        self.give_back_counts();
        let mut tokens = Tokens {
            rows: Vec::new(),
            places: Vec::with_capacity(self.records.len()),
            free: Vec::new(),
            waiting: Vec::new(),
            live: self.live,
        };
        // The freed tokens are listed in the order of memory. Their own list has another order, in
        // which the search of a large net would wait for memory at each token.
        for (token, record) in (0u32..).zip(self.records.iter()) {
            let place = (record[1] >> 32) as u32;
            match place {
                NONE => {
                    tokens.places.push(0);
                    tokens.free.push(token);
                }
                place => tokens.places.push(place),
            }
        }
        // The records are freed before the engine stores the tokens, so that both never take memory
        // at the same time.
        self.records = Table::default();
        self.engine.refill(tokens)?;
        self.engine.events = self.events;
        Ok(())
    }

    /// Gives the simulated time, the numbers of firings and the random streams back to the engine.
    fn give_back_counts(&mut self) {
        let engine = &mut *self.engine;
        engine.marking.now_ns = self.now_ns;
        engine.firings = self.firings;
        for (at, state) in self.states.iter().enumerate() {
            (engine.fired[at], engine.streams[at]) = (state.fired, state.stream.clone());
        }
    }
}
