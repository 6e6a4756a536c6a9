//! Measures the relative error of the response times that the load generator reports while the
//! target stalls.
//!
//! Run this example on an idle machine: it fails if the error with 1, 8 or 64 workers exceeds 1 %.

#[allow(dead_code)]
#[path = "../tests/support/stalling.rs"]
mod stalling;

const OFF_MAX: f64 = 0.01;

fn main() {
    let off = [1, 8, 64].map(|workers| (workers, stalling::tried(workers, 5)));
    let entries = off.map(|(workers, off)| format!("\"stall_off_{workers}_workers\": {off:.6}"));
    println!("{{{}}}", entries.join(", "));
    assert!(
        off.iter().all(|(_, off)| *off <= OFF_MAX),
        "more than 1 % off the truth: {off:?}"
    );
}
