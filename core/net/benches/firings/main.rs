//! Measures the speed of the net engine as ratios. There are three comparisons: the engine with a
//! hand-written simulator of the same model, two threads with one thread, and large nets with small
//! nets.
//!
//! The two sides of a ratio are measured alternately, so that other programs of the machine affect
//! both. Times of one thread are processor times. The speed-up by a second thread is measured in
//! elapsed time. The last line of the output is one JSON object with all figures.

mod handwritten;
mod nets;

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::sync::OnceLock;
use std::time::Instant;

use cpu_time::ProcessTime;
use dfslab_net::{compile, run, CompiledNet, NetDefinition, RunOptions};
use serde_json::{json, Map, Value as Json};

/// Number of times that each side of a ratio is measured.
const TURNS: usize = 15;

/// Rank of the bounds of a median's interval: from the 4th smallest to the 4th largest of the 15
/// values. The interval contains the true median with a probability of 96 % (sign test).
const RANK: usize = 4;

/// Number of requests of each client in the PVFS net.
const REQUESTS: u32 = 2048;

/// Returns the processor seconds of this process, including all threads.
fn cpu_s() -> f64 {
    ProcessTime::now().as_duration().as_secs_f64()
}

/// Returns the seconds elapsed since the first call.
fn elapsed_s() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

type Clock = fn() -> f64;

/// The median of the values of all turns, with its interval.
struct Median {
    value: f64,
    low: f64,
    high: f64,
}

impl Median {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            value: values[values.len() / 2],
            low: values[RANK - 1],
            high: values[values.len() - RANK],
        }
    }
}

/// The costs of two programs in seconds, and the ratio of the first cost to the second.
struct Compared {
    first_s: Median,
    second_s: Median,
    ratio: Median,
}

/// Runs two programs alternately and compares their costs. `first` and `second` run a program once
/// and return its cost in seconds.
fn compared(mut first: impl FnMut() -> f64, mut second: impl FnMut() -> f64) -> Compared {
    let turns: Vec<(f64, f64)> = (0..TURNS).map(|_| (first(), second())).collect();
    Compared {
        first_s: Median::new(turns.iter().map(|turn| turn.0).collect()),
        second_s: Median::new(turns.iter().map(|turn| turn.1).collect()),
        ratio: Median::new(turns.iter().map(|turn| turn.0 / turn.1).collect()),
    }
}

/// A net that is run repeatedly with the same options.
struct Program {
    net: CompiledNet,
    options: RunOptions,
    clock: Clock,
}

impl Program {
    fn new(net: &Json, options: &Json, clock: Clock) -> Self {
        let definition = NetDefinition::from_json(&net.to_string()).expect("the net is right");
        Self {
            net: compile(definition).expect("the net is right"),
            options: RunOptions::from_json(&options.to_string()).expect("the options are right"),
            clock,
        }
    }

    /// Runs the net once. Returns the seconds and the result.
    fn run(&self) -> (f64, Json) {
        let start_s = (self.clock)();
        let stop = AtomicBool::new(false);
        let result = run(&self.net, &self.options, &stop).expect("the net runs");
        ((self.clock)() - start_s, result)
    }

    /// Number of firings of a run, in all replications.
    fn firings(&self) -> f64 {
        let (_, result) = self.run();
        let replications = result["replications"].as_array().expect("a list").iter();
        let firings = replications.map(|one| one["firings"].as_u64().expect("a count"));
        firings.sum::<u64>() as f64
    }
}

/// All figures of the bench by their names, and the interval of each figure that is a median.
#[derive(Default)]
struct Figures {
    values: Map<String, Json>,
    intervals: Map<String, Json>,
}

impl Figures {
    fn add(&mut self, name: &str, median: &Median) {
        let Median { value, low, high } = median;
        println!("{name:<30} {value:>14.4} {low:>14.4} {high:>14.4}");
        self.values.insert(name.to_owned(), json!(value));
        self.intervals.insert(name.to_owned(), json!([low, high]));
    }

    /// Adds a rate in firings per second, from the seconds that `firings` took.
    fn add_rate(&mut self, name: &str, firings: f64, seconds: &Median) {
        let rate = Median {
            value: firings / seconds.value,
            low: firings / seconds.high,
            high: firings / seconds.low,
        };
        self.add(name, &rate);
    }
}

/// Compares the PVFS net with the hand-written simulator. `names` has two keys of `figures`. Under
/// the first, the net's firings per second are stored. Under the second, the ratio of the
/// simulator's seconds to the net's seconds is stored.
fn against_handwritten(exponential: bool, names: (&str, &str), figures: &mut Figures) {
    let program = Program::new(&nets::pvfs(REQUESTS, exponential), &json!({}), cpu_s);
    let by_hand_s = || {
        let start_s = cpu_s();
        black_box(handwritten::pvfs(8, REQUESTS, 4, exponential, 1));
        cpu_s() - start_s
    };
    let found = compared(by_hand_s, || program.run().0);
    figures.add_rate(names.0, program.firings(), &found.second_s);
    figures.add(names.1, &found.ratio);
    let end_ns = program.run().1["replications"][0]["end_time_ns"].as_f64();
    let by_hand_ns = handwritten::pvfs(8, REQUESTS, 4, exponential, 1) as f64;
    println!(
        "  ends at {} s, hand-written {} s",
        end_ns.expect("a time") / 1e9,
        by_hand_ns / 1e9
    );
}

/// Compares two replications on one thread with two replications on two threads.
fn by_threads(figures: &mut Figures) {
    let net = nets::pvfs(REQUESTS, true);
    let program = |threads: u32| {
        let options = json!({ "replications": 2, "threads": threads });
        Program::new(&net, &options, elapsed_s)
    };
    let (one, two) = (program(1), program(2));
    let found = compared(|| one.run().0, || two.run().0);
    figures.add("two_replications_speedup", &found.ratio);
}

/// Measures a net that joins tokens by equal ids. Compares its time with 100,000 waiting tokens
/// that have no partner and its time with 1,000 such tokens.
fn by_waiting_tokens(figures: &mut Figures) {
    let options = json!({ "max_firings": 2_000_000 });
    let program = |waiting| Program::new(&nets::keyed_join(waiting), &options, cpu_s);
    let (many, few) = (program(100_000), program(1_000));
    let found = compared(|| many.run().0, || few.run().0);
    figures.add("keyed_join_slowdown_100x", &found.ratio);
}

/// Compares the seconds per firing of two PVFS nets: one with 8,000 clients and 4,000 servers, and
/// one with 8 clients and 4 servers.
fn by_size(figures: &mut Figures) {
    let program = |clients, servers, requests| {
        let net = nets::pvfs_of(clients, servers, requests, true);
        Program::new(&net, &json!({}), cpu_s)
    };
    let (large, small) = (program(8_000, 4_000, 2), program(8, 4, REQUESTS));
    let (in_large, in_small) = (large.firings(), small.firings());
    let found = compared(|| large.run().0 / in_large, || small.run().0 / in_small);
    figures.add("large_net_slowdown", &found.ratio);
    println!(
        "  {:.1} ns a firing, {:.1} ns in the small net",
        found.first_s.value * 1e9,
        found.second_s.value * 1e9
    );
}

/// Compares the seconds to read and compile two rings: one of 10,000 stations, and one of 1,000
/// stations.
fn by_stations(figures: &mut Figures) {
    let build_s = |text: &str| {
        let start_s = cpu_s();
        let definition = NetDefinition::from_json(text).expect("the net is right");
        drop(compile(definition).expect("the net is right"));
        cpu_s() - start_s
    };
    let (large, small) = (
        nets::ring(10_000).to_string(),
        nets::ring(1_000).to_string(),
    );
    let found = compared(|| build_s(&large), || build_s(&small));
    figures.add("build_10000_stations_vs_1000", &found.ratio);
}

fn main() {
    println!(
        "{:<30} {:>14} {:>14} {:>14}",
        "figure", "median", "from", "to"
    );
    let mut figures = Figures::default();
    let mm1 = Program::new(&nets::mm1(0.8), &json!({ "max_firings": 1_000_000 }), cpu_s);
    let seconds = Median::new((0..TURNS).map(|_| mm1.run().0).collect());
    figures.add_rate("mm1_firings_per_s", mm1.firings(), &seconds);
    let names = ("pvfs_firings_per_s", "pvfs_vs_handwritten");
    against_handwritten(false, names, &mut figures);
    let names = ("pvfs_exp_firings_per_s", "pvfs_exp_vs_handwritten");
    against_handwritten(true, names, &mut figures);
    by_threads(&mut figures);
    by_waiting_tokens(&mut figures);
    by_size(&mut figures);
    by_stations(&mut figures);
    let Figures { values, intervals } = figures;
    println!("{}", json!({ "figures": values, "intervals": intervals }));
}
