//! The naive reference engine: simple code for the firing rule of the real engine. Tests use it as
//! an oracle.
//!
//! Every step examines every transition and every combination of tokens, and evaluates inscriptions
//! as trees. The net has passed [`crate::compile()`], so an invalid net is a programmer's error and
//! panics.

mod scalar;
mod walk;

use std::collections::HashMap;

use crate::clock::nanoseconds;
use crate::definition::{FieldType, InputDefinition, NetDefinition, TransitionDefinition};
use crate::expression::{parse, Expression};
use crate::stream::Stream;
use crate::Firing;
use scalar::Scalar;

#[derive(Clone, Debug, PartialEq)]
struct Token {
    arrival: u64,
    row: Vec<Scalar>,
}

#[derive(Clone, Debug)]
struct Pending {
    time_ns: u64,
    sequence: u64,
    place: usize,
    row: Vec<Scalar>,
}

/// One replication of the reference engine.
#[derive(Debug)]
pub struct Reference {
    net: NetDefinition,
    places: Vec<Vec<Token>>,
    pending: Vec<Pending>,
    streams: Vec<Stream>,
    now_ns: u64,
    arrivals: u64,
    sequence: u64,
    parsed: HashMap<String, Expression>,
    /// Values of names that are not variables of arcs. They are the locals of the transition or,
    /// while a function is evaluated, the function's parameters.
    named: Vec<(String, Scalar)>,
}

/// A value of an enumeration, as its position among `values`. None for an unknown name.
fn enumerated(values: &[String], name: &str) -> Option<Scalar> {
    let at = values.iter().position(|value| value == name)?;
    Some(Scalar::Int(at as i64))
}

/// The value of a field of an initial token, read from JSON.
fn first_value(net: &NetDefinition, json: &serde_json::Value, kind: FieldType) -> Scalar {
    match (json, kind) {
        (_, FieldType::Enum(at)) => {
            let value = json.as_str().expect("a value of an enumeration");
            enumerated(&net.enums[at as usize].1, value).expect("checked")
        }
        (serde_json::Value::Array(values), FieldType::List(element)) => {
            let kind = element.field_type().expect("colours have lists of a type");
            let one = |json| first_value(net, json, kind);
            Scalar::List(values.iter().map(one).collect())
        }
        (serde_json::Value::Array(values), FieldType::Record(colour)) => {
            let fields = net.fields_of(colour).iter().zip(values);
            let one = |(field, json): (&(String, FieldType), _)| {
                (field.0.clone(), first_value(net, json, field.1))
            };
            Scalar::Record(fields.map(one).collect())
        }
        _ => Scalar::of_json(json, kind),
    }
}

impl TransitionDefinition {
    /// The input arc that binds a variable.
    fn arc_of(&self, variable: &str) -> Option<usize> {
        let named = |input: &InputDefinition| input.var.as_deref() == Some(variable);
        self.inputs.iter().position(named)
    }

    /// Whether the first waiting tokens need not be a binding. In the nets of the tests, the guards
    /// of transitions that draw tokens compare different tokens.
    fn searches(&self) -> bool {
        let places = self.inputs.iter().map(|input| &input.place);
        let mut distinct: Vec<_> = places.collect();
        distinct.sort_unstable();
        distinct.dedup();
        self.guard.is_some() || distinct.len() < self.inputs.len()
    }
}

/// A binding: for each input arc the place, and the position of the bound token in it.
type Bound = Vec<(usize, usize)>;

impl Reference {
    /// Creates a replication at time zero with the initial tokens.
    pub fn new(net: &NetDefinition, seed: u64, replication: u64) -> Self {
        let transitions = net.transitions.len() as u64;
        let mut reference = Self {
            net: net.clone(),
            places: vec![Vec::new(); net.places.len()],
            pending: Vec::new(),
            streams: (0..=transitions)
                .map(|at| Stream::new(seed, replication, at))
                .collect(),
            now_ns: 0,
            arrivals: 0,
            sequence: 0,
            parsed: HashMap::new(),
            named: Vec::new(),
        };
        for (place, definition) in net.places.iter().enumerate() {
            let fields = &net.colours[&definition.colour];
            for row in &definition.initial {
                let cells = row.iter().zip(fields);
                let row = cells.map(|(json, field)| first_value(net, json, field.1));
                reference.arrive(place, row.collect());
            }
        }
        reference
    }

    /// Moves simulated time as far as necessary and fires one transition. Returns None when nothing
    /// can fire any more.
    pub fn step(&mut self) -> Option<Firing> {
        loop {
            if let Some((transition, bound)) = self.next_firing() {
                self.fire(transition, bound);
                return Some(Firing {
                    time_ns: self.now_ns,
                    transition,
                });
            }
            self.now_ns = self.pending.iter().map(|pending| pending.time_ns).min()?;
            let now_ns = self.now_ns;
            let mut due: Vec<Pending> = self
                .pending
                .iter()
                .filter(|pending| pending.time_ns == now_ns)
                .cloned()
                .collect();
            self.pending.retain(|pending| pending.time_ns != now_ns);
            due.sort_by_key(|pending| pending.sequence);
            due.into_iter()
                .for_each(|pending| self.arrive(pending.place, pending.row));
        }
    }

    /// The field values of the tokens available in a place, one row for each token, in order of
    /// arrival.
    pub fn rows(&self, place: usize) -> Vec<Vec<u64>> {
        let mut tokens = self.places[place].clone();
        tokens.sort_by_key(|token| token.arrival);
        tokens
            .iter()
            .map(|token| token.row.iter().flat_map(Scalar::words).collect())
            .collect()
    }

    fn arrive(&mut self, place: usize, row: Vec<Scalar>) {
        self.arrivals += 1;
        self.places[place].push(Token {
            arrival: self.arrivals,
            row,
        });
    }

    fn place(&self, name: &str) -> usize {
        let found = self.net.places.iter().position(|place| place.name == name);
        found.expect("the net was checked")
    }

    fn is_random(&self, place: usize) -> bool {
        self.net.places[place].discipline == "random"
    }

    /// Positions of a place's tokens, in the order in which the discipline of the place takes them.
    fn order(&self, place: usize) -> Vec<usize> {
        let tokens = &self.places[place];
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        let definition = &self.net.places[place];
        match &*definition.discipline {
            "lifo" => order.reverse(),
            "fifo" | "random" => {}
            least => {
                let name = least.strip_prefix("min:").expect("the net was checked");
                let fields = &self.net.colours[&definition.colour];
                let at = fields
                    .iter()
                    .position(|field| field.0 == name)
                    .expect("checked");
                let value = |&index: &usize| tokens[index].row[at].real();
                order.sort_by(|a, b| value(a).partial_cmp(&value(b)).expect("no NaN"));
            }
        }
        order
    }

    fn bindings(&mut self, transition: usize) -> Option<Bound> {
        let definition = self.net.transitions[transition].clone();
        let blocked = definition
            .inhibit
            .iter()
            .any(|arc| self.places[self.place(&arc.place)].len() >= arc.at_least as usize);
        if blocked {
            return None;
        }
        let orders = self.orders(&definition);
        self.extend(&definition, &orders, Vec::new())
    }

    /// For each input arc, the positions of its place's tokens in the order in which they are
    /// tried.
    fn orders(&self, definition: &TransitionDefinition) -> Vec<Vec<usize>> {
        let inputs = definition.inputs.iter();
        inputs
            .map(|input| self.order(self.place(&input.place)))
            .collect()
    }

    /// Completes a partial binding arc by arc. Returns the first complete binding that meets the
    /// guard, or None.
    fn extend(
        &mut self,
        definition: &TransitionDefinition,
        orders: &[Vec<usize>],
        bound: Bound,
    ) -> Option<Bound> {
        let arc = bound.len();
        if arc == definition.inputs.len() {
            let holds = match &definition.guard {
                None => true,
                Some(text) => self.scalar_of_text(text, definition, &bound, 0).truth(),
            };
            return holds.then_some(bound);
        }
        let place = self.place(&definition.inputs[arc].place);
        for &position in &orders[arc] {
            if bound.contains(&(place, position)) {
                continue;
            }
            let mut longer = bound.clone();
            longer.push((place, position));
            if let Some(found) = self.extend(definition, orders, longer) {
                return Some(found);
            }
        }
        None
    }

    fn next_firing(&mut self) -> Option<(usize, Bound)> {
        let mut enabled: Vec<(i64, u64, usize, Bound)> = Vec::new();
        for transition in 0..self.net.transitions.len() {
            if let Some(bound) = self.bindings(transition) {
                let fixed = bound.iter().filter(|arc| !self.is_random(arc.0));
                let arrival = |&(place, at): &(usize, usize)| self.places[place][at].arrival;
                let complete = fixed.map(arrival).max().unwrap_or(0);
                let priority = self.net.transitions[transition].priority;
                enabled.push((-priority, complete, transition, bound));
            }
        }
        enabled.sort_by_key(|entry| (entry.0, entry.1, entry.2));
        let (level, _, first, bound) = enabled.first()?.clone();
        let weight = |at: usize| self.net.transitions[at].weight;
        if weight(first).is_none() {
            return Some((first, bound));
        }
        let compete = |other: &Bound| {
            let random = |arc: &(usize, usize)| self.is_random(arc.0);
            bound.iter().any(|arc| {
                other.contains(arc) || (random(arc) && other.iter().any(|that| that.0 == arc.0))
            })
        };
        let mut candidates = vec![(first, bound.clone())];
        enabled.sort_by_key(|entry| entry.2);
        for (other_level, _, other, binding) in &enabled {
            let rival = *other != first && *other_level == level && weight(*other).is_some();
            if rival && compete(binding) {
                candidates.push((*other, binding.clone()));
            }
        }
        if candidates.len() == 1 {
            return candidates.pop();
        }
        let total: f64 = candidates
            .iter()
            .map(|entry| weight(entry.0).unwrap_or(0.0))
            .sum();
        let weights: Vec<f64> = candidates
            .iter()
            .map(|entry| weight(entry.0).unwrap_or(0.0))
            .collect();
        let mut left = self
            .streams
            .last_mut()
            .expect("a stream for choices")
            .unit()
            * total;
        for (candidate, weight) in candidates.iter().zip(weights) {
            left -= weight;
            if left < 0.0 {
                return Some(candidate.clone());
            }
        }
        candidates.pop()
    }

    /// Draws the tokens of random places: one of each place, or, for a transition that searches, an
    /// order in which the tokens are tried.
    fn draw(&mut self, transition: usize, definition: &TransitionDefinition, bound: &mut Bound) {
        let random: Vec<bool> = bound.iter().map(|arc| self.is_random(arc.0)).collect();
        if !random.contains(&true) {
            return;
        }
        if definition.searches() {
            let mut orders = self.orders(definition);
            for (order, _) in orders.iter_mut().zip(&random).filter(|(_, &drawn)| drawn) {
                for last in (1..order.len()).rev() {
                    order.swap(last, self.streams[transition].below(last + 1));
                }
            }
            let drawn = self.extend(definition, &orders, Vec::new());
            *bound = drawn.expect("the transition has a binding");
            return;
        }
        for (arc, _) in bound.iter_mut().zip(&random).filter(|(_, &drawn)| drawn) {
            arc.1 = self.streams[transition].below(self.places[arc.0].len());
        }
    }

    fn fire(&mut self, transition: usize, mut bound: Bound) {
        let definition = self.net.transitions[transition].clone();
        self.draw(transition, &definition, &mut bound);
        self.named.clear();
        for local in &definition.locals {
            let value = self.scalar(&local.value, &definition, &bound, transition);
            let value = value.of_type(local.resolved);
            self.named.push((local.name.clone(), value));
        }
        let delay_ns = |reference: &mut Self, json: &Option<serde_json::Value>| match json {
            None => 0,
            Some(json) => {
                let value = reference.scalar(json, &definition, &bound, transition);
                nanoseconds(value.real()).expect("a delay in range")
            }
        };
        let base_ns = delay_ns(self, &definition.delay);
        let mut made = Vec::new();
        for output in &definition.outputs {
            let place = self.place(&output.place);
            let turns = match &output.count {
                None => 1,
                Some(json) => {
                    let count = self.scalar(json, &definition, &bound, transition);
                    count.real() as i64
                }
            };
            for turn in 0..turns {
                if output.count.is_some() {
                    self.named.push(("turn".to_owned(), Scalar::Int(turn)));
                }
                let row = self.row(output, place, &definition, &bound, transition);
                made.push((place, row, base_ns + delay_ns(self, &output.delay)));
                self.named.truncate(definition.locals.len());
            }
        }
        self.named.clear();
        self.remove(bound);
        for arc in &definition.reset {
            let place = self.place(&arc.place);
            self.places[place].clear();
        }
        for (place, row, delay_ns) in made {
            if delay_ns == 0 {
                self.arrive(place, row);
            } else {
                self.sequence += 1;
                let (time_ns, sequence) = (self.now_ns + delay_ns, self.sequence);
                self.pending.push(Pending {
                    time_ns,
                    sequence,
                    place,
                    row,
                });
            }
        }
    }

    /// Removes the bound tokens from their places. If the discipline of a place is "random", its
    /// last token takes the position of a removed one. The tokens are removed in reverse order of
    /// the arcs. The real engine does the same, so both engines draw the same tokens.
    fn remove(&mut self, bound: Bound) {
        let taken: Vec<(usize, u64)> = bound
            .iter()
            .map(|&(place, at)| (place, self.places[place][at].arrival))
            .collect();
        for (place, arrival) in taken.into_iter().rev() {
            let tokens = &mut self.places[place];
            let at = tokens
                .iter()
                .position(|token| token.arrival == arrival)
                .expect("bound");
            match self.net.places[place].discipline == "random" {
                true => drop(tokens.swap_remove(at)),
                false => drop(tokens.remove(at)),
            }
        }
    }

    fn row(
        &mut self,
        output: &crate::definition::OutputDefinition,
        place: usize,
        definition: &TransitionDefinition,
        bound: &Bound,
        transition: usize,
    ) -> Vec<Scalar> {
        let fields = self.net.colours[&self.net.places[place].colour].clone();
        match &output.token {
            None => Vec::new(),
            Some(serde_json::Value::String(text)) => {
                if let Some(arc) = definition.arc_of(text) {
                    return self.places[bound[arc].0][bound[arc].1].row.clone();
                }
                match self.scalar_of_text(text, definition, bound, transition) {
                    Scalar::Record(fields) => fields.into_iter().map(|field| field.1).collect(),
                    other => panic!("{other:?} is no record"),
                }
            }
            Some(json) => {
                let cells = json.as_array().expect("a list").iter().zip(fields);
                let value = |(json, (_, kind)): (&serde_json::Value, (String, FieldType))| {
                    self.scalar(json, definition, bound, transition)
                        .of_type(kind)
                };
                cells.map(value).collect()
            }
        }
    }

    fn scalar(
        &mut self,
        json: &serde_json::Value,
        definition: &TransitionDefinition,
        bound: &Bound,
        transition: usize,
    ) -> Scalar {
        match json {
            serde_json::Value::String(text) => {
                self.scalar_of_text(text, definition, bound, transition)
            }
            serde_json::Value::Bool(truth) => Scalar::Bool(*truth),
            number => match number.as_i64() {
                Some(whole) => Scalar::Int(whole),
                None => Scalar::Real(number.as_f64().expect("a number")),
            },
        }
    }

    fn scalar_of_text(
        &mut self,
        text: &str,
        definition: &TransitionDefinition,
        bound: &Bound,
        transition: usize,
    ) -> Scalar {
        if !self.parsed.contains_key(text) {
            self.parsed
                .insert(text.to_owned(), parse(text).expect("the net was checked"));
        }
        let tree = self.parsed[text].clone();
        self.walk(&tree, definition, bound, transition)
    }
}
