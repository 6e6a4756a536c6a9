//! A trace of twice the size takes twice the number of steps to replay, whatever its shape.

use super::{savings, steps};
use crate::rank::Options;
use crate::span::{Span, SpanStore};
use crate::tree::{Forest, NONE};

/// One call of a tree: name, thread, index of the caller or `NONE`, start, end.
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

/// A long root call with calls below it.
fn below_root(calls: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![("root", 1, NONE, 0, 1 << 40)];
    rows.extend(calls);
    rows
}

/// A chain of nested calls.
fn deep(calls: u64) -> Vec<Row> {
    let caller = |call: u64| call.checked_sub(1).map_or(NONE, |above| above as u32);
    let one = |call| ("call", 0, caller(call), call, 3 * calls - call);
    (0..calls).map(one).collect()
}

/// One call that waits for many concurrent calls.
fn wide(calls: u64) -> Vec<Row> {
    below_root((0..calls).map(|call| ("call", 0, 0, 1 + call, 1 + call + calls)))
}

/// Consecutive calls on their caller's thread.
fn in_a_row(calls: u64) -> Vec<Row> {
    below_root((0..calls).map(|call| ("call", 1, 0, 10 * call, 10 * call + 7)))
}

/// Calls in turn on a few threads; the end of one may release another.
fn on_servers(calls: u64) -> Vec<Row> {
    let one = |call| ("call", 2 + call % 16, 0, 100 * call, 100 * call + 1000);
    below_root((0..calls).map(one))
}

/// Eight calls on each of many threads.
fn on_many_threads(calls: u64) -> Vec<Row> {
    let one = |call| {
        let (thread, turn) = (call / 8, call % 8);
        let start_ns = 10_000_000 * turn + 100 * thread;
        ("call", 2 + thread, 0, start_ns, start_ns + 5000)
    };
    below_root((0..calls).map(one))
}

/// Consecutive calls, with very long calls that begin between them on other lanes, and chains.
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

/// A name, and the function that makes the rows for a number of calls.
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
            let replay = || assert!(!savings(&forest, &Options::default()).steps.is_empty());
            steps::counted(replay)
        };
        let (once, twice) = (steps_of(CALLS), steps_of(2 * CALLS));
        println!("{name}: {once} steps, then {twice}");
        assert!(once >= CALLS, "{name}: nobody counted");
        // Sorting adds a little, and a limit on the streams can make the ratio less than two. Work
        // for every pair of calls would make the ratio 4.
        let ratio = twice as f64 / once as f64;
        assert!((1.0..2.3).contains(&ratio), "{name}: {ratio}");
    }
}
