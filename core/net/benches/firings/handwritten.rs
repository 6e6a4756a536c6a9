//! Simulates the PVFS model (clients that read from servers with a network and a disk) with
//! hand-written code: an event heap and arrays. The bench compares the net engine with it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const CHUNKS: u32 = 16;
const NET_S: f64 = 0.000635;
const DISK_S: f64 = 0.00115;

/// The event that a server's network or disk finishes serving a chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Done {
    time_ns: u64,
    sequence: u64,
    server: u32,
    client: u32,
    at_disk: bool,
}

#[derive(Default)]
struct Station {
    queue: VecDeque<u32>,
    busy: bool,
}

struct Model {
    heap: BinaryHeap<Reverse<Done>>,
    net: Vec<Station>,
    disk: Vec<Station>,
    now_ns: u64,
    sequence: u64,
    random: u64,
    exponential: bool,
}

impl Model {
    fn service_ns(&mut self, mean_s: f64) -> u64 {
        if !self.exponential {
            return (mean_s * 1e9).round() as u64;
        }
        // SplitMix64: the engine's random streams use the same generator. The exponential value is
        // computed by inversion: -ln(u) * mean, where u is uniform in (0, 1).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        let unit = ((word >> 11) as f64 + 0.5) * (-53f64).exp2();
        (-unit.ln() * mean_s * 1e9).round() as u64
    }

    fn offer(&mut self, server: u32, client: u32, at_disk: bool) {
        let stations = if at_disk {
            &mut self.disk
        } else {
            &mut self.net
        };
        let station = &mut stations[server as usize];
        if station.busy {
            station.queue.push_back(client);
            return;
        }
        station.busy = true;
        self.start(server, client, at_disk);
    }

    fn start(&mut self, server: u32, client: u32, at_disk: bool) {
        let service_ns = self.service_ns(if at_disk { DISK_S } else { NET_S });
        self.sequence += 1;
        let (time_ns, sequence) = (self.now_ns + service_ns, self.sequence);
        self.heap.push(Reverse(Done {
            time_ns,
            sequence,
            server,
            client,
            at_disk,
        }));
    }

    fn next_of(&mut self, server: u32, at_disk: bool) {
        let stations = if at_disk {
            &mut self.disk
        } else {
            &mut self.net
        };
        let station = &mut stations[server as usize];
        match station.queue.pop_front() {
            Some(client) => self.start(server, client, at_disk),
            None => station.busy = false,
        }
    }
}

/// Simulates `clients` clients that make `requests` requests each to `servers` servers. Service
/// times are exponential or constant. Returns the end of simulated time (the makespan) in
/// nanoseconds.
pub fn pvfs(clients: u32, requests: u32, servers: u32, exponential: bool, seed: u64) -> u64 {
    let stations = || (0..servers).map(|_| Station::default()).collect();
    let mut model = Model {
        heap: BinaryHeap::new(),
        net: stations(),
        disk: stations(),
        now_ns: 0,
        sequence: 0,
        random: seed,
        exponential,
    };
    let mut left = vec![requests; clients as usize];
    let mut chunks = vec![CHUNKS; clients as usize];
    let issue = |model: &mut Model, client: u32| {
        (0..CHUNKS).for_each(|chunk| model.offer(chunk % servers, client, false));
    };
    (0..clients).for_each(|client| issue(&mut model, client));
    while let Some(Reverse(done)) = model.heap.pop() {
        model.now_ns = done.time_ns;
        model.next_of(done.server, done.at_disk);
        if !done.at_disk {
            model.offer(done.server, done.client, true);
            continue;
        }
        let client = done.client as usize;
        chunks[client] -= 1;
        if chunks[client] == 0 {
            chunks[client] = CHUNKS;
            left[client] -= 1;
            if left[client] > 0 {
                issue(&mut model, done.client);
            }
        }
    }
    assert!(
        left.iter().all(|&requests| requests == 0),
        "every request is served"
    );
    model.now_ns
}
