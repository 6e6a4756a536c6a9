//! Creates random traces whose contents are known, for the tests and for the example that measures
//! rates. Equal seeds give equal traces.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use dfslab_trace::{Forest, Report, ReportOptions, Span, SpanProfile, SpanStore};

/// The random number generator SplitMix64. A seed gives the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Returns a number from 0 to `bound` - 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Creates random trees: the parent of each span is an earlier span of its trace, or none. Some
/// children extend beyond their parents, and span ids are not in the order of the calls.
pub fn random_forest(seed: u64, traces: u64, spans_max: u64, names: u64) -> SpanStore {
    let mut random = Random(seed);
    let mut store = SpanStore::default();
    for trace in 1..=traces {
        let first = store.spans.len();
        for index in 0..=random.below(spans_max) {
            let parent = match index {
                0 => None,
                _ => Some(store.spans[first + random.below(index) as usize]),
            };
            let start_ns = parent.map_or(1_000_000, |parent| parent.start_ns) + random.below(900);
            let name = format!("call {}", random.below(names));
            store.spans.push(Span {
                trace_id: u128::from(trace) << 64 | 7,
                span_id: (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                parent_id: parent.map_or(0, |parent| parent.span_id),
                name: store.texts.intern(&name),
                start_ns,
                end_ns: start_ns + random.below(2000),
                service: store.texts.intern("service"),
                host: store.texts.intern(""),
                thread: random.below(3),
                bytes: random.below(5) * 4096,
                status_error: random.below(10) == 0,
                wait: false,
                sampling: 0,
            });
        }
    }
    store
}

/// Creates block writes as a DataNode records them: one `receiveBlock` around hundreds of
/// `receivePacket` calls.
pub fn hdfs_like(blocks: u64, seed: u64) -> SpanStore {
    let mut random = Random(seed);
    let mut store = SpanStore::default();
    let names = [
        "write",
        "addBlock",
        "receiveBlock",
        "receivePacket",
        "diskWrite",
        "mirrorWrite",
    ];
    let names = names.map(|name| store.texts.intern(name));
    let (service, host) = (store.texts.intern("datanode"), store.texts.intern("host-1"));
    for block in 1..=blocks {
        let mut push = |id: u64, parent_id: u64, name: usize, start_ns: u64, length_ns: u64| {
            store.spans.push(Span {
                trace_id: u128::from(block) << 64 | 1,
                span_id: block << 20 | id,
                parent_id: if parent_id == 0 {
                    0
                } else {
                    block << 20 | parent_id
                },
                name: names[name],
                start_ns,
                end_ns: start_ns + length_ns,
                service,
                host,
                thread: block % 8 + 1,
                bytes: if name >= 3 { 65_536 } else { 0 },
                status_error: false,
                wait: false,
                sampling: 0,
            });
        };
        let packets = 100 + random.below(400);
        let begin = 1_700_000_000_000_000_000 + block * 1_000_000_000;
        push(1, 0, 0, begin, (packets + 20) * 100_000);
        push(2, 1, 1, begin + 1000, 900_000);
        push(3, 1, 2, begin + 1_000_000, (packets + 5) * 100_000);
        for packet in 0..packets {
            let (id, start) = (4 + packet * 3, begin + 1_000_000 + packet * 100_000);
            push(id, 3, 3, start, 80_000 + random.below(15_000));
            push(id + 1, id, 4, start + 1000, 20_000 + random.below(9000));
            // The last node of a pipeline has no next node to which it sends a mirror of the
            // packet.
            if !block.is_multiple_of(3) {
                push(id + 2, id, 5, start + 30_000, 10_000 + random.below(20_000));
            }
        }
    }
    store
}

pub fn profile_of(store: &SpanStore) -> SpanProfile {
    SpanProfile::of(&Forest::recover(store.clone()))
}

pub fn report_of(profile: &SpanProfile) -> String {
    let report = Report::of(profile, &ReportOptions::default());
    serde_json::to_string(&report).expect("a report is plain data")
}

/// Returns a path in the system's temporary folder that no other test uses.
pub fn temporary(name: &str) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("dfslab-trace-{}-{call}-{name}", std::process::id()))
}
