//! Tests that clock offsets between hosts are found and corrected. The tests create traces with
//! known offsets.

mod support;

use dfslab_trace::{
    clocks, summarise_files, write_file, AlignedClock, Forest, OutputFormat, Reading, Span,
    SpanStore, Window,
};
use proptest::prelude::*;
use support::Random;

const HOSTS: [&str; 4] = ["client", "namenode", "datanode-1", "datanode-2"];

/// Creates traces in which a client calls a NameNode and a DataNode, and the DataNode calls a
/// second DataNode. `ahead_ns` has the time by which each host's clock is ahead. Each network delay
/// is 50 to 250 us, and every tenth write outlives its caller.
fn calls(seed: u64, ahead_ns: [i64; 4], count: u64) -> SpanStore {
    let mut random = Random(seed);
    let mut store = SpanStore::default();
    let hosts = HOSTS.map(|host| store.texts.intern(host));
    let names = ["write", "addBlock", "receiveBlock", "receiveBlock"];
    let names = names.map(|name| store.texts.intern(name));
    for trace in 1..=count {
        let begin = 1_700_000_000_000_000_000 + trace * 10_000_000;
        let mut push = |id: u64, parent_id: u64, at: usize, start_ns: u64, end_ns: u64| {
            store.spans.push(Span {
                trace_id: u128::from(trace),
                span_id: id,
                parent_id,
                name: names[at],
                start_ns: start_ns.saturating_add_signed(ahead_ns[at]),
                end_ns: end_ns.saturating_add_signed(ahead_ns[at]),
                host: hosts[at],
                ..Span::default()
            });
        };
        let mut way = || 50_000 + random.below(200_000);
        let (ask, answer, there, back, on, off) = (way(), way(), way(), way(), way(), way());
        push(1, 0, 0, begin, begin + 5_000_000);
        push(2, 1, 1, begin + ask, begin + 1_000_000 - answer);
        let receives = (begin + 1_000_000 + there, begin + 5_000_000 - back);
        push(3, 1, 2, receives.0, receives.1);
        let late = if trace % 10 == 0 { 2_000_000 } else { 0 };
        push(4, 3, 3, receives.0 + on + late, receives.1 - off + late);
    }
    store
}

fn found(store: &SpanStore) -> Vec<AlignedClock> {
    clocks(&Forest::recover(store.clone()))
}

proptest! {
    #[test]
    fn clocks_set_apart_are_found_within_their_residual(
        seed in 0..1000u64, apart in proptest::array::uniform3(20_000_000..4_000_000_000i64),
        sign in proptest::array::uniform3(any::<bool>()),
    ) {
        let mut ahead = [0; 4];
        for place in 0..3 {
            ahead[place + 1] = if sign[place] { apart[place] } else { -apart[place] };
        }
        let clocks = found(&calls(seed, ahead, 40));
        prop_assert_eq!(clocks.len(), 4);
        prop_assert_eq!(&clocks[0].host, "client");
        for clock in &clocks {
            let place = HOSTS.iter().position(|host| *host == clock.host).expect("a host");
            let off = (clock.ahead_ns - ahead[place]).unsigned_abs();
            prop_assert!(off <= clock.residual_ns, "{:?} is off by {}", clock, off);
            // The residual of the offset between two hosts is below 4.5 ms in these traces.
            // Residuals add up along the chain of hosts to the reference host. A chain connects at
            // most three hosts, so at most two residuals are added.
            prop_assert!(clock.residual_ns <= 2 * 4_500_000);
        }
    }
}

#[test]
fn sound_clocks_stay_where_they_are() {
    for clock in found(&calls(1, [0; 4], 40)) {
        assert_eq!(clock.ahead_ns, 0, "{clock:?}");
    }
    let one_host = calls(1, [0; 4], 1);
    let only = SpanStore {
        spans: one_host.spans[..1].to_vec(),
        ..one_host
    };
    assert!(found(&only).is_empty());
}

#[test]
fn asynchronous_calls_are_outvoted() {
    let clocks = found(&calls(3, [0, 0, 0, 40_000_000], 100));
    let last = clocks.iter().find(|clock| clock.host == "datanode-2");
    let last = last.expect("it was called");
    assert!(last.against >= 10, "{last:?}");
    assert!((last.ahead_ns - 40_000_000).unsigned_abs() <= last.residual_ns);
}

#[test]
fn files_are_read_with_the_clocks_set() {
    let path = std::env::temp_dir().join(format!("dfslab-clocks-{}", std::process::id()));
    let outside = |ahead_ns| {
        let store = calls(5, ahead_ns, 50);
        write_file(&store, &path, OutputFormat::Protobuf).expect("it is written");
        let summary =
            summarise_files(&[&path], Window::default(), &Reading::default()).expect("it is read");
        std::fs::remove_file(&path).expect("it was there");
        (summary.profile.losses.outside_parent, summary.profile.spans)
    };
    // In one of ten trees, a call is asynchronous; only such calls extend beyond their callers.
    let sound = outside([0; 4]);
    assert_eq!(sound, (5, 200));
    assert_eq!(outside([0, 900_000_000, -70_000_000, 30_000_000]), sound);
}
