//! Measures the firings per second of the net engine, compared with a hand-written simulator of the
//! same model.
//!
//! Times of one thread are processor times, since these do not depend on other programs of the
//! machine. The speed-up by a second thread is measured in elapsed time.

mod handwritten;
mod nets;

use std::sync::atomic::AtomicBool;
use std::sync::OnceLock;
use std::time::Instant;

use cpu_time::ProcessTime;
use dfslab_net::{compile, run, NetDefinition, RunOptions};
use serde_json::{json, Value as Json};

const ROUNDS: usize = 7;

/// Number of times that the engine and the hand-written simulator are measured, each in turn.
const TURNS: usize = 5;

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

/// Runs a net for several rounds. Returns its firings, the seconds of the fastest round by `clock`,
/// and the last result.
fn best_of(net_json: &Json, options: &Json, clock: Clock) -> (f64, f64, Json) {
    let definition = NetDefinition::from_json(&net_json.to_string()).expect("the net is right");
    let net = compile(definition).expect("the net is right");
    let options = RunOptions::from_json(&options.to_string()).expect("the options are right");
    let mut best_s = f64::INFINITY;
    let mut result = Json::Null;
    for _ in 0..ROUNDS {
        let start_s = clock();
        result = run(&net, &options, &AtomicBool::new(false)).expect("the net runs");
        best_s = best_s.min(clock() - start_s);
    }
    let firings = result["replications"].as_array().expect("a list").iter();
    let firings: u64 = firings
        .map(|one| one["firings"].as_u64().expect("a count"))
        .sum();
    (firings as f64, best_s, result)
}

/// Runs the hand-written simulator for several rounds. Returns the end of simulated time in ns, and
/// the seconds of the fastest round.
fn best_of_handwritten(exponential: bool) -> (f64, f64) {
    let mut best_s = f64::INFINITY;
    let mut makespan_ns = 0;
    for _ in 0..ROUNDS {
        let start_s = cpu_s();
        makespan_ns = handwritten::pvfs(8, 512, 4, exponential, 1);
        best_s = best_s.min(cpu_s() - start_s);
    }
    (makespan_ns as f64 / 1e9, best_s)
}

/// Returns the firings per second of a net that joins tokens by equal ids, while `waiting` tokens
/// without a partner wait.
fn join_rate(waiting: usize) -> f64 {
    let options = json!({ "max_firings": 2_000_000 });
    let (firings, seconds, _) = best_of(&nets::keyed_join(waiting), &options, cpu_s);
    firings / seconds
}

/// Returns the seconds per firing of the PVFS net (clients that read from servers). `requests` is
/// the number for each client.
fn firing_s(clients: u32, servers: u32, requests: u32) -> f64 {
    let net = nets::pvfs_of(clients, servers, requests, true);
    let (firings, seconds, _) = best_of(&net, &json!({}), cpu_s);
    seconds / firings
}

/// Returns the seconds to read and compile a ring of stations, in the fastest of several rounds.
fn build_s(stations: u32) -> f64 {
    let text = nets::ring(stations).to_string();
    let mut best_s = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start_s = cpu_s();
        let definition = NetDefinition::from_json(&text).expect("the net is right");
        compile(definition).expect("the net is right");
        best_s = best_s.min(cpu_s() - start_s);
    }
    best_s
}

fn main() {
    println!(
        "{:<34} {:>12} {:>10} {:>14}",
        "model", "firings", "seconds", "firings/s"
    );
    let show = |name: &str, firings: f64, seconds: f64| {
        println!(
            "{name:<34} {firings:>12} {seconds:>10.4} {:>14.0}",
            firings / seconds
        );
        firings / seconds
    };
    let (firings, seconds, _) =
        best_of(&nets::mm1(0.8), &json!({ "max_firings": 4_000_000 }), cpu_s);
    let mm1 = show("M/M/1", firings, seconds);
    let mut ratios = Vec::new();
    let mut rates = Vec::new();
    for (name, exponential) in [("deterministic", false), ("exponential", true)] {
        // The engine and the hand-written simulator are measured alternately, so that other
        // programs of the machine affect both.
        let (mut seconds, mut hand_s) = (f64::INFINITY, f64::INFINITY);
        let (mut firings, mut makespan_s, mut result) = (0.0, 0.0, Json::Null);
        for _ in 0..TURNS {
            let (fired, net_s, one) = best_of(&nets::pvfs(512, exponential), &json!({}), cpu_s);
            let (end_s, by_hand_s) = best_of_handwritten(exponential);
            (firings, makespan_s, result) = (fired, end_s, one);
            (seconds, hand_s) = (seconds.min(net_s), hand_s.min(by_hand_s));
        }
        rates.push(show(&format!("PVFS, {name}"), firings, seconds));
        show(&format!("PVFS, {name}, hand-written"), firings, hand_s);
        ratios.push(hand_s / seconds);
        let ours_ns = result["replications"][0]["end_time_ns"]
            .as_f64()
            .expect("a time");
        println!("  ends at {} s, hand-written {makespan_s} s", ours_ns / 1e9);
    }
    let one = json!({ "replications": 2, "threads": 1 });
    let two = json!({ "replications": 2, "threads": 2 });
    let (firings, one_s, _) = best_of(&nets::pvfs(2048, true), &one, elapsed_s);
    let (_, two_s, _) = best_of(&nets::pvfs(2048, true), &two, elapsed_s);
    show("PVFS twice, 1 thread", firings, one_s);
    show("PVFS twice, 2 threads", firings, two_s);
    let slowdown = join_rate(1_000) / join_rate(100_000);
    let large_slowdown = firing_s(8_000, 4_000, 2) / firing_s(8, 4, 512);
    let build_ratio = build_s(10_000) / build_s(1_000);
    println!(
        "{}",
        json!({
            "mm1_firings_per_s": mm1,
            "pvfs_firings_per_s": rates[0],
            "pvfs_exp_firings_per_s": rates[1],
            "pvfs_vs_handwritten": ratios[0],
            "pvfs_exp_vs_handwritten": ratios[1],
            "keyed_join_slowdown_100x": slowdown,
            "two_replications_speedup": one_s / two_s,
            "large_net_slowdown": large_slowdown,
            "build_10000_stations_vs_1000": build_ratio,
        })
    );
}
