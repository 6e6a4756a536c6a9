//! Tests that the cost of a replay grows in proportion to the size of the trace. If the trace is
//! twice as large, the replay must take about twice as many elementary steps. The traces have call
//! trees of several shapes.

use super::{savings, steps};
use crate::profile::rank::ReportOptions;
use crate::span::{Span, SpanStore};
use crate::tree::{Forest, NONE};

/// One call of a tree, as (name, thread, index of the caller or `NONE`, start in ns, end in ns).
type Row = (&'static str, u64, u32, u64, u64);

fn forest(rows: &[Row]) -> Forest {
    let mut store = SpanStore::default();
    for (place, &(name, thread, parent, start_ns, end_ns)) in rows.iter().enumerate() {
        let name = store.intern(name);
        store.spans.push(Span {
            trace_id: 1,
            span_id: place as u64 + 1,
            parent_id: match parent {
                NONE => 0,
                parent => u64::from(parent) + 1,
            },
            name,
            start_ns,
            end_ns,
            thread,
            ..Span::default()
        });
    }
    Forest::recover(store)
}

/// Creates a tree with one long root call and the given calls below it.
fn below_root(calls: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![("root", 1, NONE, 0, 1 << 40)];
    rows.extend(calls);
    rows
}

/// Creates a tree that is a chain of nested calls.
fn deep(calls: u64) -> Vec<Row> {
    let caller = |call: u64| call.checked_sub(1).map_or(NONE, |above| above as u32);
    let one = |call| ("call", 0, caller(call), call, 3 * calls - call);
    (0..calls).map(one).collect()
}

/// Creates a tree in which one call waits for many concurrent calls.
fn wide(calls: u64) -> Vec<Row> {
    below_root((0..calls).map(|call| ("call", 0, 0, 1 + call, 1 + call + calls)))
}

/// Creates a tree of consecutive calls on their caller's thread.
fn in_a_row(calls: u64) -> Vec<Row> {
    below_root((0..calls).map(|call| ("call", 1, 0, 10 * call, 10 * call + 7)))
}

/// Creates a tree of overlapping calls, distributed evenly over sixteen threads. Since ends and
/// starts of calls coincide, an inferred dependency can connect two calls.
fn on_servers(calls: u64) -> Vec<Row> {
    let one = |call| ("call", 2 + call % 16, 0, 100 * call, 100 * call + 1000);
    below_root((0..calls).map(one))
}

/// Creates a tree of eight calls on each of many threads.
fn on_many_threads(calls: u64) -> Vec<Row> {
    let one = |call| {
        let (thread, turn) = (call / 8, call % 8);
        let start_ns = 10_000_000 * turn + 100 * thread;
        ("call", 2 + thread, 0, start_ns, start_ns + 5000)
    };
    below_root((0..calls).map(one))
}

/// Creates a tree of consecutive calls and chains of calls. Very long calls on other threads begin
/// between them.
fn mixed(calls: u64) -> Vec<Row> {
    let one = |call: u64| {
        let at = 100 * (call / 3);
        match call % 3 {
            0 => ("own", 1, 0, at, at + 60),
            1 => ("long", 0, 0, at + 70, 1 << 39),
            _ => ("inner", 0, call as u32, at + 75, at + 80),
        }
    };
    below_root((0..calls).map(one))
}

/// A shape of call trees: its name, and the function that creates a tree of this shape with a given
/// number of calls.
type Shape = (&'static str, fn(u64) -> Vec<Row>);
const SHAPES: [Shape; 6] = [
    ("deep", deep),
    ("wide", wide),
    ("in a row", in_a_row),
    ("on servers", on_servers),
    ("on many threads", on_many_threads),
    ("mixed", mixed),
];

#[test]
fn twice_the_calls_take_twice_the_steps() {
    const CALLS: u64 = 6000;
    for (name, shape) in SHAPES {
        let steps_of = |calls: u64| {
            let forest = forest(&shape(calls));
            assert!(forest.spans.len() as u64 >= calls);
            let replay = || assert!(!savings(&forest, &ReportOptions::default()).steps.is_empty());
            steps::counted(replay)
        };
        let (once, twice) = (steps_of(CALLS), steps_of(2 * CALLS));
        println!("{name}: {once} steps, then {twice}");
        assert!(once >= CALLS, "{name}: nobody counted");
        // The ratio is 2 if the work is proportional to the number of calls, and 4 if there is work
        // for every pair of calls. The sorting of events makes it slightly larger than 2. A limit
        // on the number of streams can make it smaller.
        let ratio = twice as f64 / once as f64;
        assert!((1.0..2.3).contains(&ratio), "{name}: {ratio}");
    }
}
