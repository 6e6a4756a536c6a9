//! Tests that `cluster_run` and the reference engine fire alike on small random nets. `cluster_run`
//! fires a net in fewer steps.

use std::sync::atomic::AtomicBool;

use serde_json::{json, Value as Json};

use super::{Form, Maker, NETS, PART};
use crate::cluster_run::{self, Limits, Pause};
use crate::reference::Reference;
use crate::stream::Stream;
use crate::{compile, run, Engine, NetDefinition, RunOptions};

/// Guards of nets without lists, for transitions with one, two and three input arcs.
const LEAN: [&[&str]; 3] = [
    &[
        "a.n > 0",
        "a.n == 1",
        "a.n != 1",
        "a.x < half",
        "a.h == red",
        "a.k <= 2 && a.n < 3",
    ],
    &[
        "a.k == b.k",
        "a.k == b.k && a.n > 0",
        "a.k == b.k && b.n == 1",
        "a.k == b.k && b.n > 1",
        "a.k == b.k && b.n != 1 && a.h == red",
        "a.k == b.k && a.n == b.n",
        "a.k == b.k && (a.n > 2 || b.x < 1)",
    ],
    &[
        "a.k == b.k && b.k == c.k",
        "a.k == b.k && b.k == c.k && c.n > 1",
        "a.k == b.k && b.k == c.k && a.n <= 1 && c.n != 2",
    ],
];

impl Maker {
    /// Makes a net whose tokens have four fields, with few places and with the guards of `LEAN`.
    /// Its transitions often share places.
    pub(super) fn lean_net(&mut self) -> Json {
        let count = 2 + self.below(5);
        let places: Vec<Json> = (0..count).map(|at| self.lean_place(at)).collect();
        let transitions: Vec<Json> = (0..1 + self.below(5))
            .map(|at| self.lean_transition(at, count))
            .collect();
        json!({
            "name": "lean",
            "enums": {"hue": ["red", "green", "blue"]},
            "colours": {"item": [["k", "int"], ["n", "int"], ["x", "real"], ["h", "hue"]]},
            "constants": {"two": 2, "half": 0.5},
            "tables": {"steps": {"edges": [0.0, 1e-6, 3e-6], "weights": [1, 2]}},
            "places": places,
            "transitions": transitions
        })
    }

    fn lean_place(&mut self, at: usize) -> Json {
        let rows: Vec<Json> = (0..3 + self.below(7))
            .map(|_| {
                let key = [0, 1, 1, 2, 5_000, -1][self.below(6)];
                let hue = self.one_of(&["red", "green", "blue"]);
                json!([key, self.below(4), self.below(8) as f64 / 4.0, hue])
            })
            .collect();
        json!({"name": format!("p{at}"), "colour": "item", "initial": rows})
    }

    fn lean_transition(&mut self, at: usize, places: usize) -> Json {
        let variables = ["a", "b", "c"];
        let arcs = (1 + self.below(3)).min(places);
        // The input places are neighbours, and the number of the first one is even. Several
        // transitions therefore often take tokens from the same places.
        let first = self.below(places) / 2 * 2;
        let inputs: Vec<usize> = (0..arcs).map(|arc| (first + arc) % places).collect();
        let outputs = (0..arcs.max(1 + self.below(3)))
            .map(|_| self.lean_output(places, &variables[..arcs]))
            .collect::<Vec<_>>();
        let mut transition = json!({
            "name": format!("t{at}"),
            "priority": self.below(6) / 5,
            "in": (0..arcs)
                .map(|arc| json!({"place": format!("p{}", inputs[arc]), "var": variables[arc]}))
                .collect::<Vec<_>>(),
            "out": outputs
        });
        if arcs > 1 || self.below(2) == 0 {
            transition["guard"] = json!(self.one_of(LEAN[arcs - 1]));
        }
        if self.below(2) == 0 {
            transition["delay"] = json!(self.delay("a"));
        }
        if self.below(4) == 0 {
            transition["locals"] = json!([{"name": "f", "type": "int", "value": "a.n * 2 + 1"}]);
            let out = transition["out"].as_array_mut().expect("a list");
            for one in out.iter_mut().filter(|one| one["token"].is_array()) {
                one["token"][1] = json!("f % 4");
            }
        }
        transition
    }

    fn lean_output(&mut self, places: usize, variables: &[&'static str]) -> Json {
        let v = self.one_of(variables);
        let token = match self.below(2) {
            0 => json!(v),
            _ => {
                let key = ["{v}.k", "{v}.k", "min({v}.k, 2) + discrete(0.3)"][self.below(3)];
                let number = [
                    "({v}.n + 1) % 4",
                    "{v}.n",
                    "({v}.n + 3) % 4",
                    "if({v}.n == 0, 2, 3 // {v}.n)",
                ][self.below(4)];
                let real = ["now() * 1e6", "{v}.x / 2", "{v}.x"][self.below(3)];
                let hue = ["blue", "{v}.h", "if({v}.n > 1, red, {v}.h)"][self.below(3)];
                let text = |one: &str| one.replace("{v}", v);
                json!([text(key), text(number), text(real), text(hue)])
            }
        };
        let mut output = json!({"place": format!("p{}", self.below(places)), "token": token});
        if self.below(6) == 0 {
            output["count"] = json!(format!("if({v}.n > 1, 1, 2)"));
        }
        if self.below(2) == 0 {
            output["delay"] = json!(self.delay(v));
        }
        output
    }
}

/// Fires a net with `cluster_run`, `stride` firings at a time, and with the reference engine.
/// Returns the first difference as text (None if both agree) and the number of firings. Returns
/// None if `cluster_run` does not cover the net.
pub(super) fn run_difference(net: &Json, seed: u64, stride: u64) -> Option<(Option<String>, u64)> {
    let read = || NetDefinition::from_json(&net.to_string()).expect("a net as data");
    let compiled = compile(read()).expect("the net compiles");
    let plan = compiled.cluster_plan.as_ref()?;
    let mut engine = Engine::new(&compiled, seed, 3).expect("the first tokens arrive");
    let mut reference = Reference::new(&read(), seed, 3);
    let mut wanted = vec![0u64; compiled.transitions.len()];
    while engine.firings < 2 * stride.max(20) {
        let limits = Limits {
            pause_ns: u64::MAX,
            max_firings: engine.firings + stride,
            max_instant_firings: u64::MAX,
            max_tokens: usize::MAX,
            until: None,
            is_final: false,
        };
        let before = engine.firings;
        let stop = AtomicBool::new(false);
        let pause = cluster_run::run(&mut engine, plan, limits, &stop).expect("no fault");
        let mut last = None;
        for _ in before..engine.firings {
            last = reference.step();
            wanted[last.expect("the reference fires too").transition] += 1;
        }
        if pause == Pause::Idle && reference.step().is_some() {
            return Some((Some("the run ends early".to_owned()), engine.firings));
        }
        let now_ns = last.map_or(engine.marking.now_ns, |firing| firing.time_ns);
        if engine.fired != wanted || engine.marking.now_ns < now_ns {
            let words = format!("{:?} fired, reference {wanted:?}", engine.fired);
            return Some((Some(words), engine.firings));
        }
        for place in 0..compiled.places.len() {
            let (found, wanted) = (engine.rows(place), reference.rows(place));
            if pause != Pause::Idle && found != wanted {
                let words = format!("p{place}: {found:?}, reference {wanted:?}");
                return Some((Some(words), engine.firings));
            }
        }
        if pause == Pause::Idle {
            break;
        }
    }
    Some((None, engine.firings))
}

#[test]
fn runs_over_clusters_and_reference_fire_alike() {
    let (mut nets, mut total) = (0_u64, 0);
    for seed in 0..4 * NETS {
        let net = Maker(Stream::new(seed, 2, 0), Form::Lean).net();
        for stride in [1, 7, 40] {
            let Some((different, firings)) = run_difference(&net, seed, stride) else {
                continue;
            };
            assert_eq!(
                different, None,
                "seed {seed}, {stride} firings each: {net:#}"
            );
            nets += u64::from(firings > 20);
            total += firings;
        }
    }
    println!("{nets} runs over clusters of more than 20 firings, {total} firings");
    assert!(
        nets >= 250 / PART && total >= 15_000 / PART,
        "{nets} runs, {total} firings"
    );
}

/// Runs the replications of a net and returns their results as text. `clusters` says whether
/// `cluster_run` is used.
fn results(net: &Json, options: &Json, clusters: bool) -> String {
    let read = NetDefinition::from_json(&net.to_string()).expect("a net as data");
    let mut compiled = compile(read).expect("the net compiles");
    assert!(compiled.cluster_plan.is_some(), "a run covers the net");
    if !clusters {
        compiled.cluster_plan = None;
    }
    let options = RunOptions::from_json(&options.to_string()).expect("the options are right");
    match run(&compiled, &options, &AtomicBool::new(false)) {
        Ok(results) => results.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Two stations in a ring with three customers. `first` has one server and a uniform service time.
/// `second` has two servers and an exponential service time. The field `turns` counts services of
/// `first`.
fn ring() -> Json {
    let customers = json!([[0, 0], [1, 0], [2, 0]]);
    json!({
        "name": "ring",
        "colours": {"customer": [["id", "int"], ["turns", "int"]], "server": []},
        "places": [
            {"name": "one", "colour": "customer", "initial": customers},
            {"name": "two", "colour": "customer"},
            {"name": "idle one", "colour": "server", "initial": [[]]},
            {"name": "idle two", "colour": "server", "initial": [[], []]}
        ],
        "transitions": [
            {"name": "first", "in": [{"place": "one", "var": "c"}, {"place": "idle one"}],
             "out": [{"place": "two", "token": ["c.id", "c.turns + 1"]}, {"place": "idle one"}],
             "delay": "uniform(0.9, 1.1)"},
            {"name": "second", "in": [{"place": "two", "var": "c"}, {"place": "idle two"}],
             "out": [{"place": "one", "token": "c"}, {"place": "idle two"}],
             "delay": "exponential(1)"}
        ]
    })
}

#[test]
fn results_are_the_same_with_and_without_runs_over_clusters() {
    let monitors = json!([
        {"kind": "count", "transition": "second", "when": "c.id == 1"},
        {"kind": "marking", "place": "one"},
        {"kind": "log", "transition": "first", "fields": ["c.id", "c.turns"], "limit": 50},
        {"kind": "sojourn", "from": "first", "to": "second", "key": "c.id"},
        {"kind": "value", "initial": 3.0,
         "levels": [{"name": "here", "initial": 3, "changes": [
             {"transition": "first", "by": "-1"}, {"transition": "second", "by": "1"}]}],
         "observations": [
             {"transition": "first", "value": "here * 2 + now()", "when": "c.id != 1"},
             {"transition": "second", "value": "here + c.id"}]}
    ]);
    let ends = [
        json!({"end_time_s": 200.0}),
        json!({"end_time_s": 200.0, "warm_up_s": 31.5}),
        json!({"max_firings": 123}),
        json!({"until": {"monitor": 0, "count": 40}}),
        json!({"end_time_s": 1000.0, "max_tokens": 3}),
        json!({"end_time_s": 3.0, "max_instant_firings": 1}),
    ];
    let mut outcomes = Vec::new();
    for end in ends {
        let mut options = json!({"seed": 5, "replications": 2, "laws": true, "monitors": monitors});
        for (key, value) in end.as_object().expect("an object") {
            options[key] = value.clone();
        }
        let found = results(&ring(), &options, true);
        assert_eq!(found, results(&ring(), &options, false), "{end}");
        outcomes.push(found);
    }
    outcomes.dedup();
    assert!(outcomes.len() > 4, "the ends of a run differ: {outcomes:?}");
}

#[test]
fn errors_are_the_same_with_and_without_runs_over_clusters() {
    let mut broken = ring();
    broken["transitions"][0]["delay"] = json!("1 - c.turns / 2");
    let mut divided = ring();
    divided["transitions"][1]["out"][0]["token"] = json!(["c.id", "8 // (3 - c.turns)"]);
    let mut endless = ring();
    for at in 0..2 {
        endless["transitions"][at]["delay"] = json!(0);
    }
    for (net, words) in [
        (broken, "delay is"),
        (divided, "zero"),
        (endless, "livelock"),
    ] {
        let options = json!({"end_time_s": 1000.0, "max_instant_firings": 1000});
        let found = results(&net, &options, true);
        assert!(found.contains(words), "{found}");
        assert_eq!(found, results(&net, &options, false));
    }
}
