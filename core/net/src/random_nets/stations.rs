//! Tests that `cluster_run` and the reference engine fire alike on random nets of stations and
//! counters. `cluster_run` fires the transitions of these two shapes in fewer steps than others.

use std::collections::BTreeMap;

use serde_json::{json, Value as Json};

use super::lean::run_difference;
use super::{Form, Maker, NETS, PART};
use crate::stream::Stream;
use crate::{compile, Engine, NetDefinition};

/// Values of the field by which tokens are joined. The largest value is too large for a table, so
/// it is found by hash.
const KEYS: [i64; 4] = [0, 1, 2, 5_000_000];

impl Maker {
    /// Makes a closed net of one to three stations and a counter. Customers pass all stations, and
    /// the counter collects them. When it has collected enough customers, it sends the same number
    /// to the first station. Nearly all events are simultaneous with other events.
    fn stations_net(&mut self) -> Json {
        let stations = 1 + self.below(3);
        let fan_out = 1 + self.below(4);
        let mut places = vec![json!({"name": "done", "colour": "item"})];
        let states = self.rows(5, fan_out);
        places.push(json!({"name": "state", "colour": "item", "initial": states}));
        let mut transitions = vec![self.collect(), self.finish(fan_out)];
        for at in 0..stations {
            let customers = self.rows(6, 2);
            let servers = self.rows(6, 2);
            places.push(json!({"name": format!("q{at}"), "colour": "item", "initial": customers}));
            places.push(json!({"name": format!("i{at}"), "colour": "item", "initial": servers}));
            transitions.push(self.station(at, stations));
        }
        if self.below(4) == 0 {
            let out = json!([{"place": "done", "token": "a", "delay": 2e-6},
                             {"place": "i0", "token": "s"}]);
            let renege = json!({"name": "renege", "guard": "a.k == s.k && a.n == 2", "out": out,
                                "in": [{"place": "q0", "var": "a"}, {"place": "i0", "var": "s"}]});
            transitions.insert(self.below(transitions.len()), renege);
        }
        json!({
            "name": "stations",
            "colours": {"item": [["k", "int"], ["n", "int"], ["x", "real"]]},
            "places": places,
            "transitions": transitions
        })
    }

    fn rows(&mut self, most: usize, number: usize) -> Vec<Json> {
        let count = 1 + self.below(most);
        let row = |maker: &mut Self| json!([KEYS[maker.below(KEYS.len())], number, 0.5]);
        (0..count).map(|_| row(self)).collect()
    }

    fn in_any_order(&mut self, one: Json, other: Json) -> Json {
        match self.below(2) {
            0 => json!([one, other]),
            _ => json!([other, one]),
        }
    }

    fn station(&mut self, at: usize, stations: usize) -> Json {
        let (queue, idle) = (format!("q{at}"), format!("i{at}"));
        let to = match at + 1 == stations {
            true => "done".to_owned(),
            false => format!("q{}", at + 1),
        };
        let delays = ["1e-6", "2e-6", "exponential(1e-6)", "c.n * 1e-6", "0"];
        let mut station = json!({
            "name": format!("serve{at}"),
            "guard": "c.k == s.k",
            "priority": self.below(4) / 3,
            "in": self.in_any_order(json!({"place": queue, "var": "c"}),
                                    json!({"place": idle, "var": "s"})),
            "out": self.in_any_order(json!({"place": to, "token": "c"}),
                                     json!({"place": idle, "token": "s"})),
        });
        if at == 0 || self.below(5) > 0 {
            // The first station always takes time, so that simulated time advances.
            let choices = if at == 0 { &delays[..3] } else { &delays[..] };
            station["delay"] = json!(self.one_of(choices));
        }
        station
    }

    fn counter(&mut self, guard: &str) -> Json {
        let inputs = self.in_any_order(
            json!({"place": "done", "var": "d"}),
            json!({"place": "state", "var": "w"}),
        );
        json!({"guard": format!("d.k == w.k && {guard}"), "in": inputs})
    }

    fn collect(&mut self) -> Json {
        let mut collect = self.counter("w.n > 1");
        collect["name"] = json!("collect");
        let real = self.one_of(&["w.x", "now() * 1e6", "w.x + d.x"]);
        collect["out"] = json!([{"place": "state", "token": ["w.k", "w.n - 1", real]}]);
        collect
    }

    fn finish(&mut self, fan_out: usize) -> Json {
        let mut finish = self.counter("w.n <= 1");
        finish["name"] = json!("finish");
        let customer = json!({"place": "q0", "token": ["w.k", "w.n + 1", "d.x"]});
        let mut out = vec![customer; fan_out];
        let state = json!({"place": "state", "token": ["w.k", fan_out, "w.x"]});
        out.insert(self.below(fan_out + 1), state);
        finish["out"] = json!(out);
        finish
    }
}

/// Fires a net up to 120 times. `fired` counts the firings by the transition's shape ("service" or
/// "update"). `cluster_run` fires transitions of these shapes in fewer steps.
fn fired_by_shape(net: &Json, seed: u64, fired: &mut BTreeMap<&'static str, u64>) {
    let read = NetDefinition::from_json(&net.to_string()).expect("a net as data");
    let compiled = compile(read).expect("the net compiles");
    let plan = compiled
        .cluster_plan
        .as_ref()
        .expect("a run covers the net");
    let shapes = plan.shapes();
    let mut engine = Engine::new(&compiled, seed, 3).expect("the first tokens arrive");
    for _ in 0..120 {
        if let Some(firing) = engine.step().expect("no fault") {
            if let Some(shape) = shapes[firing.transition] {
                *fired.entry(shape).or_default() += 1;
            }
        }
    }
}

#[test]
fn stations_and_reference_fire_alike() {
    let (mut total, mut by_shape) = (0, BTreeMap::new());
    for seed in 0..NETS {
        let net = Maker(Stream::new(seed, 4, 0), Form::Lean).stations_net();
        fired_by_shape(&net, seed, &mut by_shape);
        for stride in [1, 7, 40, 120] {
            let found = run_difference(&net, seed, stride);
            let (different, firings) = found.expect("a run over clusters covers the net");
            assert_eq!(
                different, None,
                "seed {seed}, {stride} firings each: {net:#}"
            );
            total += firings;
        }
    }
    println!("{total} firings, of them by shape {by_shape:?}");
    let often = |shape: &str| {
        by_shape
            .get(shape)
            .is_some_and(|&fired| fired >= 1_000 / PART)
    };
    assert!(
        total >= 30_000 / PART && often("service") && often("update"),
        "{total} firings, {by_shape:?}"
    );
}
