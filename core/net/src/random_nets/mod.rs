//! Tests that the engine and the naive reference engine fire alike on small random nets.

mod guards;
mod lean;
mod stations;

use serde_json::{json, Value as Json};

use crate::reference::Reference;
use crate::stream::Stream;
use crate::{compile, Engine, NetDefinition};
use guards::{KEYED_THREE, KEYED_TWO};

/// The flag `few_nets` (`RUSTFLAGS="--cfg few_nets"`) divides the number of random nets by `PART`.
/// Under AddressSanitizer, all nets take a quarter of an hour.
const PART: u64 = if cfg!(few_nets) { 5 } else { 1 };
const NETS: u64 = 400 / PART;
const STEPS: u64 = 120;

/// Form of random nets. In `Keyed` and `Plain` nets, transitions form clusters (share input
/// places). In `Keyed` nets, all tokens that a transition takes are equal in one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Any,
    Keyed,
    Plain,
    /// Nets, with or without a key, that `cluster_run` covers: without lists, texts, weights and
    /// inhibitor arcs.
    Lean,
}

/// Makes random nets from one seed. The nets have few colours, many simultaneous events, and every
/// form of guard.
struct Maker(Stream, Form);

impl Maker {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn net(&mut self) -> Json {
        if self.1 == Form::Lean {
            return self.lean_net();
        }
        let places = 3 + self.below(4);
        let random_place = match self.1 {
            Form::Any => self.below(places * 3),
            _ => places,
        };
        let places: Vec<Json> = (0..places)
            .map(|at| self.place(at, at == random_place))
            .collect();
        let transitions: Vec<Json> = (0..2 + self.below(4))
            .map(|at| self.transition(at, &places))
            .collect();
        json!({
            "name": "random",
            "enums": {"hue": ["red", "green", "blue"]},
            "colours": {"item": [["k", "int"], ["n", "int"], ["x", "real"], ["h", "hue"],
                                ["q", "list int"], ["r", "list hue"], ["s", "list pair"],
                                ["w", "text"]],
                        "pair": [["n", "int"], ["y", "real"], ["h", "hue"], ["m", "list int"],
                                 ["z", "text"]]},
            "functions": {
                "sum": {"parameters": [["l", "list int"]], "result": "int",
                        "body": "if(l == [], 0, head(l) + sum(tail(l)))"},
                "up": {"parameters": [["n", "int"], ["m", "int"]], "result": "list int",
                       "body": "if(n > m, [], cons(n, up(n + 1, m)))"},
                "noisy": {"parameters": [["n", "int"], ["x", "real"]], "result": "real",
                          "body": "if(n <= 0, x, uniform(0, 1) + noisy(n - 1, x / 2))"},
                "name": {"parameters": [["s", "text"], ["n", "int"]], "result": "text",
                         "body": "if(n < 1 || length(s) > 5, s, name(concat(s, text(n)), n - 1))"},
                "even": {"parameters": [["n", "int"]], "result": "bool",
                         "body": "if(n <= 0, n == 0, odd(n - 1))"},
                "odd": {"parameters": [["n", "int"]], "result": "bool",
                        "body": "if(n <= 0, false, even(n - 1))"}},
            "tables": {"steps": {"edges": [0.0, 1e-6, 3e-6], "weights": [1, 2]}},
            "constants": {"two": 2, "half": 0.5},
            "places": places,
            "transitions": transitions
        })
    }

    fn place(&mut self, at: usize, random: bool) -> Json {
        let discipline = match random {
            true => "random",
            false if self.1 != Form::Any => "fifo",
            false => self.one_of(&["fifo", "fifo", "lifo", "min:n", "min:x"]),
        };
        let least = if self.1 == Form::Keyed { 4 } else { 0 };
        let initial: Vec<Json> = (0..least + self.below(8))
            .map(|_| {
                let key = [0, 1, 2, 5_000, -1][self.below(5)];
                let hue = self.one_of(&["red", "green", "blue"]);
                let queue: Vec<usize> = (0..self.below(4)).map(|_| self.below(3)).collect();
                let hues = &["red", "green"][..self.below(3)];
                let pairs =
                    (0..self.below(3)).map(|n| json!([n, n as f64 / 2.0, "red", [n, 1], "a"]));
                let pairs: Vec<Json> = pairs.collect();
                let word = self.one_of(&["", "a", "b1", "a\"\\"]);
                json!([
                    key,
                    self.below(4),
                    self.below(8) as f64 / 4.0,
                    hue,
                    queue,
                    hues,
                    pairs,
                    word
                ])
            })
            .collect();
        json!({"name": format!("p{at}"), "colour": "item", "discipline": discipline,
               "initial": initial})
    }

    fn transition(&mut self, at: usize, places: &[Json]) -> Json {
        let variables = ["a", "b", "c"];
        let mut arcs = 1 + self.below(3);
        let mut inputs: Vec<usize> = (0..arcs).map(|_| self.below(places.len())).collect();
        let draws = inputs
            .iter()
            .any(|&at| places[at]["discipline"] == "random");
        if self.1 == Form::Keyed && arcs > 1 {
            let first = inputs[0];
            inputs = (0..arcs).map(|arc| (first + arc) % places.len()).collect();
        }
        if self.1 == Form::Keyed && arcs == 1 {
            (arcs, inputs) = (2, vec![inputs[0], (inputs[0] + 1) % places.len()]);
        }
        if self.1 == Form::Plain {
            inputs.sort_unstable();
            inputs.dedup();
            arcs = inputs.len();
        }
        let mut transition = json!({
            "name": format!("t{at}"),
            "priority": self.below(8) / 7,
            "in": (0..arcs)
                .map(|arc| json!({"place": format!("p{}", inputs[arc]), "var": variables[arc]}))
                .collect::<Vec<_>>(),
            "out": (0..1 + self.below(arcs + 1))
                .map(|_| self.output(places.len(), &variables[..arcs]))
                .collect::<Vec<_>>()
        });
        if let Some(guard) = self.guard(arcs, draws) {
            transition["guard"] = json!(guard);
        }
        if self.below(3) == 0 {
            transition["weight"] = json!(1 + self.below(3));
        }
        if self.below(4) == 0 {
            let place = format!("p{}", self.below(places.len()));
            transition["inhibit"] = json!([{"place": place, "at_least": 1 + self.below(3)}]);
        }
        if self.1 == Form::Any && self.below(6) == 0 {
            transition["reset"] = json!([{"place": format!("p{}", self.below(places.len()))}]);
        }
        if self.below(4) == 0 {
            transition["delay"] = json!(self.delay("a"));
        }
        if self.below(4) == 0 {
            transition["locals"] = json!([
                {"name": "d", "type": "real", "value": "noisy(2, a.x)"},
                {"name": "e", "type": "text", "value": "name(a.w, a.n)"},
                {"name": "f", "type": "int", "value": "floor(d) + length(e)"}
            ]);
            let out = transition["out"].as_array_mut().expect("a list");
            for one in out.iter_mut().filter(|one| one["token"].is_array()) {
                one["token"][1] = json!("f % 4");
                one["token"][2] = json!("d + 0");
                one["token"][7] = json!("if(length(e) > 4, \"\", e)");
            }
        }
        transition
    }

    fn guard(&mut self, arcs: usize, draws: bool) -> Option<&'static str> {
        if draws {
            return guards::drawn(arcs, |bound| self.below(bound));
        }
        let one = [
            "a.n > 0",
            "a.k == 1",
            "a.n % two == 1 || a.x < half",
            "!(a.k == 2)",
            "a.k != 0",
            "a.h == red || a.n == 1",
            "length(a.q) > 0 && head(a.q) == 1",
            "a.q == [] || contains(a.q, a.n)",
            "contains([red, blue], a.h) || a.r != []",
            "a.s != [] && head(a.s).n <= a.n",
            "a.w == \"a\" || a.w < \"b\"",
            "even(a.n)",
            "sum(a.q) < 4 && a.w != \"\"",
            "!contains(a.s, pair(a.n, a.x, a.h, a.q, a.w))",
        ];
        let two = [
            "a.k == b.k",
            "a.k == b.k && a.n == b.n",
            "a.k == b.k && a.n < b.n",
            "a.k == b.k && b.n > 0 && a.n < 3",
            "a.n <= b.n && a.k == 1",
            "a.x + b.x > 1.0",
            "a.k == 1 && b.k == 1",
            "b.n == 1",
            "a.h == b.h",
            "a.h == hue.green && b.h != green",
            "a.q == b.q",
            "a.r == b.r && length(a.q) <= length(b.q)",
            "contains(a.q, b.n)",
            "a.w == b.w",
            "sum(a.q) <= sum(b.q) || a.w >= b.w",
            "concat(a.w, b.w) != \"aa\" && a.k == b.k",
            "a.s == b.s",
            "contains(a.s, pair(b.n, 1, red, b.q, a.w)) || length(b.s) > 1",
        ];
        let three = [
            "a.k == b.k && b.k == c.k",
            "a.k == c.k",
            "b.k == c.k",
            "b.k == c.k && a.n < b.n",
            "a.k == b.k && b.n == c.n",
            "a.k == b.k && c.n > 0",
            "a.k == c.k && a.x <= c.x",
            "a.n + b.n == c.n",
            "a.w == b.w && up(a.n, b.n) != [c.n]",
        ];
        let choices: &[&'static str] = match (arcs, self.below(3)) {
            (2, _) if self.1 == Form::Keyed => &KEYED_TWO,
            (_, _) if self.1 == Form::Keyed => &KEYED_THREE,
            (_, 1..) if self.1 == Form::Plain => &one,
            (_, 0) => return None,
            (1, _) | (_, 1) => &one,
            (2, _) => &two,
            _ => &three,
        };
        Some(self.one_of(choices))
    }

    fn output(&mut self, places: usize, variables: &[&'static str]) -> Json {
        let variable = self.one_of(variables);
        let token = match self.below(3) {
            0 => json!(variable),
            _ => {
                let key = match self.below(3) {
                    0 => format!("{variable}.k"),
                    1 => format!("if({variable}.n > 1, {variable}.k, 1)"),
                    _ => format!("min({variable}.k, 2) + discrete(0.3)"),
                };
                let number = match self.below(3) {
                    0 => format!("({variable}.n + 1) % 4"),
                    1 => format!("{variable}.n"),
                    _ => format!("floor(uniform(0, 4)) // (1 + {variable}.n * {variable}.n)"),
                };
                let hue = match self.below(3) {
                    0 => "blue".to_owned(),
                    1 => format!("{variable}.h"),
                    _ => format!("if({variable}.n > 1, red, {variable}.h)"),
                };
                let real = match self.below(4) {
                    0 => format!("if({variable}.s == [], 0.25, head({variable}.s).y)"),
                    1 => "now() * 1e6".to_owned(),
                    _ => format!("{variable}.x / 2 + {}", self.below(3)),
                };
                json!([
                    key,
                    number,
                    real,
                    hue,
                    self.queue(variable),
                    self.hues(variable),
                    self.pairs(variable),
                    self.words(variable)
                ])
            }
        };
        let mut output = json!({"place": format!("p{}", self.below(places)), "token": token});
        if self.below(5) == 0 {
            let count = match self.below(3) {
                0 => format!("if({variable}.n > 1, 1, 0)"),
                1 => format!("min({variable}.n, 2)"),
                _ => "discrete(0.6)".to_owned(),
            };
            output["count"] = json!(count);
            if output["token"].is_array() && self.below(2) == 0 {
                output["token"][1] = json!(format!("turn + {variable}.n % 2"));
            }
        }
        if self.below(4) > 0 {
            output["delay"] = json!(self.delay(variable));
        }
        output
    }

    /// An expression for a list of ints, truncated so that the list cannot grow without bound.
    fn queue(&mut self, v: &str) -> String {
        let made = match self.below(9) {
            0 => format!("cons({v}.n, {v}.q)"),
            1 => format!("append({v}.q, {v}.k)"),
            2 => format!("if({v}.q == [], [1, {v}.n], tail({v}.q))"),
            3 => format!("concat([{v}.n], reverse({v}.q))"),
            7 => format!("up({v}.n - 1, min(sum({v}.q), 3))"),
            4 => format!("[length({v}.q), if({v}.q != [], at({v}.q, length({v}.q) - 1), 0)]"),
            5 => "[]".to_owned(),
            6 => format!("concat({v}.q, {v}.q)"),
            _ => format!("{v}.q"),
        };
        format!("if(length({v}.q) > 6, [], {made})")
    }

    /// An expression for a list of records. It contains an int where a real is expected, and adds
    /// reals.
    fn pairs(&mut self, v: &str) -> String {
        let made = match self.below(6) {
            0 => format!("cons(pair({v}.n, 1, {v}.h, {v}.q, {v}.w), {v}.s)"),
            1 => format!("append({v}.s, pair({v}.k, {v}.x, blue, [{v}.n], \"\"))"),
            2 => format!("if({v}.s == [], [pair(0, {v}.x + 1, red, [], {v}.w)], tail({v}.s))"),
            3 => {
                let of = |field: &str| format!("head({v}.s).{field}");
                let made = format!("{}, 0.5, {}, {}, \"b\"", of("n"), of("h"), of("m"));
                format!("if({v}.s == [], [], [pair({made})])")
            }
            4 => format!("reverse({v}.s)"),
            _ => format!("{v}.s"),
        };
        format!("if(length({v}.s) > 4, [], {made})")
    }

    fn words(&mut self, v: &str) -> String {
        let made = match self.below(5) {
            0 => format!("concat({v}.w, \"a\")"),
            1 => format!("concat(text({v}.k - 2), {v}.w)"),
            2 => format!("name({v}.w, {v}.n)"),
            3 => "\"b1\"".to_owned(),
            _ => format!("{v}.w"),
        };
        format!("if(length({v}.w) > 3, \"\", {made})")
    }

    fn hues(&mut self, v: &str) -> String {
        match self.below(4) {
            0 => format!("if(contains({v}.r, {v}.h), {v}.r, cons({v}.h, {v}.r))"),
            1 => format!("if(length({v}.r) > 1, tail({v}.r), [hue.green, {v}.h])"),
            _ => format!("{v}.r"),
        }
    }

    fn delay(&mut self, variable: &str) -> String {
        match self.below(7) {
            0 => "0.000001".to_owned(),
            1 => "2e-6".to_owned(),
            2 => format!("{variable}.n * 1e-6"),
            3 => "exponential(1e-6)".to_owned(),
            4 => "if(discrete(half) == 1, 1e-6, deterministic(3e-6))".to_owned(),
            5 => "empirical(steps)".to_owned(),
            _ => "normal(1e-6, 1e-6)".to_owned(),
        }
    }
}

/// Fires a net with the real engine and with the reference engine. Returns the first difference as
/// text (None if both agree), and the number of firings.
fn difference(reference_net: &Json, engine_net: &Json, seed: u64) -> (Option<String>, u64) {
    let read = |net: &Json| NetDefinition::from_json(&net.to_string()).expect("a net as data");
    // The compiler rejects some random nets, such as those that join the tokens of a place whose
    // discipline is random. Such nets are skipped.
    let Ok(compiled) = compile(read(engine_net)) else {
        return (None, 0);
    };
    let mut engine = Engine::new(&compiled, seed, 3).expect("the first tokens arrive");
    let mut reference = Reference::new(&read(reference_net), seed, 3);
    for step in 0..STEPS {
        let (fired, wanted) = (engine.step().expect("no fault"), reference.step());
        if fired != wanted {
            return (
                Some(format!("step {step}: {fired:?}, reference {wanted:?}")),
                step,
            );
        }
        for place in 0..compiled.places.len() {
            let (found, wanted) = (engine.rows(place), reference.rows(place));
            if found != wanted {
                let words = format!("step {step}, p{place}: {found:?}, reference {wanted:?}");
                return (Some(words), step);
            }
        }
        if fired.is_none() {
            return (None, step);
        }
    }
    (None, STEPS)
}

#[test]
fn engine_and_reference_fire_alike() {
    let (mut total, mut fired, mut lively, mut drawn) = (0, 0, 0, 0);
    for seed in 0..NETS {
        let net = Maker(Stream::new(seed, 0, 0), Form::Any).net();
        let (different, steps) = difference(&net, &net, seed);
        assert_eq!(different, None, "seed {seed}: {net:#}");
        total += steps;
        fired += u64::from(steps > 0);
        lively += u64::from(steps > 20);
        drawn += u64::from(steps > 20 && guards::draws_in_a_search(&net));
    }
    println!("{fired} nets fired, {lively} of them often, {total} firings");
    assert!(
        fired >= 250 / PART && lively >= 100 / PART && total > 10_000 / PART,
        "{fired} nets fired, {lively} of them often, {total} firings: too few"
    );
    assert!(drawn >= 8 / PART, "{drawn} nets draw in a search: too few");
}

/// Asserts that the real engine and the reference engine fire alike on nets of one form. Of these
/// nets, at least 50 must consist of clusters only, and these must fire at least 500 times.
fn clusters_fire_alike(form: Form) {
    let (mut members, mut total) = (0, 0);
    for seed in 0..NETS {
        let net = Maker(Stream::new(seed, 1, 0), form).net();
        let (different, steps) = difference(&net, &net, seed);
        assert_eq!(different, None, "{form:?}, seed {seed}: {net:#}");
        let read = NetDefinition::from_json(&net.to_string()).expect("a net as data");
        let compiled = compile(read).expect("no random place");
        if compiled.transitions.iter().all(|one| one.member.is_some()) {
            members += 1;
            total += steps;
        }
    }
    println!("{form:?}: {members} nets are all clusters, {total} firings");
    assert!(
        members >= 50 / PART && total >= 500 / PART,
        "{form:?}: {members} nets, {total} firings"
    );
}

#[test]
fn clusters_with_keys_and_reference_fire_alike() {
    clusters_fire_alike(Form::Keyed);
}

#[test]
fn clusters_without_keys_and_reference_fire_alike() {
    clusters_fire_alike(Form::Plain);
}

/// Tests that the comparison finds a difference if one rule of the engine's net is changed.
#[test]
#[cfg_attr(few_nets, ignore = "few nets may miss a rule")]
fn broken_engines_are_caught() {
    let swapped = |net: &Json, old: &str, new: &str| {
        let text = net.to_string().replace(old, new);
        serde_json::from_str::<Json>(&text).expect("still JSON")
    };
    let without = |net: &Json, key: &str| {
        let mut net = net.clone();
        for transition in net["transitions"].as_array_mut().expect("a list") {
            transition.as_object_mut().expect("an object").remove(key);
        }
        net
    };
    let mut caught = [0; 11];
    for seed in 0..100 {
        let net = Maker(Stream::new(seed, 0, 0), Form::Any).net();
        let broken = [
            swapped(&net, "\"fifo\"", "\"lifo\""),
            swapped(&net, "reverse(", "("),
            swapped(&net, "\"count\":\"if(a.n > 1, 1, 0)\"", "\"count\":1"),
            swapped(&net, "uniform(0, 1) + noisy", "noisy"),
            swapped(&net, "odd(n - 1)", "even(n - 1)"),
            swapped(&net, "concat(s, text(n))", "concat(text(n), s)"),
            without(&net, "priority"),
            without(&net, "inhibit"),
            without(&net, "weight"),
            without(&net, "guard"),
            without(&net, "reset"),
        ];
        for (count, broken) in caught.iter_mut().zip(&broken) {
            *count += u32::from(difference(&net, broken, seed).0.is_some());
        }
    }
    assert!(
        caught.iter().all(|&count| count >= 3),
        "caught {caught:?} of 100 each"
    );
}
