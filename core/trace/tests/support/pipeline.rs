//! Simulates streaming writes and creates their traces. The times of the components are parameters
//! of the simulation. A client sends packets through three DataNodes with buffers between them. A
//! window limits the number of unacknowledged packets.
#![allow(dead_code)]

use dfslab_trace::{Span, SpanStore};

use crate::support::Random;

pub const NODES: usize = 3;

/// The parameters of the simulation: the times of the components in nanoseconds, and the sizes of
/// the window and the buffers in packets.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub packets: usize,
    /// Largest number of unacknowledged packets. At this number the client waits for an
    /// acknowledgement.
    pub window: usize,
    /// Number of packets that fit into the buffer between two neighbouring nodes.
    pub buffer: usize,
    pub send_ns: u64,
    pub disk_ns: [u64; NODES],
    pub mirror_ns: [u64; NODES],
    pub hop_ns: u64,
    /// Relative variation of the times, per cent.
    pub spread_percent: u64,
    pub seed: u64,
    /// Whether the waiting of one component for another is recorded as a separate span. If not, the
    /// waiting only makes a span or a gap between spans longer.
    pub waits_shown: bool,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self {
            packets: 200,
            window: 80,
            buffer: 16,
            send_ns: 60_000,
            disk_ns: [60_000, 150_000, 60_000],
            mirror_ns: [40_000, 40_000, 0],
            hop_ns: 20_000,
            spread_percent: 30,
            seed: 1,
            waits_shown: true,
        }
    }
}

impl Pipeline {
    /// Returns the pipeline with one component made `factor` times faster. Components are named as
    /// in the spans.
    pub fn faster(&self, component: &str, factor: u64) -> Self {
        let mut other = self.clone();
        let node = |name: &str| name[2..3].parse::<usize>().expect("a node's number") - 1;
        match component.split_once(':') {
            Some(("client", "send")) => other.send_ns /= factor,
            Some((name, "disk")) => other.disk_ns[node(name)] /= factor,
            Some((name, "mirror")) => other.mirror_ns[node(name)] /= factor,
            _ => panic!("no component {component}"),
        }
        other
    }

    /// Returns the names of all components that can be made faster.
    pub fn components() -> Vec<String> {
        let mut all = vec!["client:send".to_owned()];
        all.extend((1..=NODES).map(|node| format!("dn{node}:disk")));
        all.extend((1..NODES).map(|node| format!("dn{node}:mirror")));
        all
    }

    /// Returns the duration of the whole write, ns.
    pub fn took_ns(&self) -> u64 {
        let trace = self.trace();
        let ends = trace.spans.iter().filter(|span| span.parent_id == 0);
        ends.map(Span::duration_ns).sum()
    }

    /// Returns the spans that a recorder would record of one write.
    pub fn trace(&self) -> SpanStore {
        let run = Run::of(self);
        let mut out = Out {
            store: SpanStore::default(),
            trace_id: u128::from(self.seed) << 64 | 1,
        };
        let last = run.acked.last().copied().unwrap_or(0) + 1000;
        let root = out.span("client", 1, "write", 0, (0, last));
        let sender = out.span("client", 1, "stream", root, (0, last - 500));
        for packet in 0..self.packets {
            let (free, start, end) = run.sent[packet];
            if self.waits_shown && start > free {
                out.wait("client", 1, "window_wait", sender, (free, start));
            }
            out.span("client", 1, "send", sender, (start, end));
        }
        let acks = out.span("client", 2, "acks", root, (0, last - 500));
        for packet in 0..self.packets {
            let at = run.acked[packet];
            out.span("client", 2, "ack", acks, (at, at));
        }
        let mut above = root;
        for node in 0..NODES {
            above = self.node(&run, node, above, &mut out);
        }
        out.store
    }

    fn node(&self, run: &Run, node: usize, above: u64, out: &mut Out) -> u64 {
        let (service, thread) = (format!("dn{}", node + 1), 10 + node as u64);
        let rows = &run.nodes[node];
        let last = rows.last().map_or(0, |row| row.passed);
        let begin = 1000 * (node as u64 + 1);
        let block = out.span(&service, thread, "receive_block", above, (begin, last));
        let mut idle_from = begin;
        for row in rows {
            if self.waits_shown && row.taken > idle_from {
                out.wait(
                    &service,
                    thread,
                    "packet_wait",
                    block,
                    (idle_from, row.taken),
                );
            }
            let packet = out.span(&service, thread, "packet", block, (row.taken, row.passed));
            out.span(&service, thread, "disk", packet, (row.taken, row.stored));
            if node + 1 < NODES {
                let until = if self.waits_shown {
                    row.mirrored
                } else {
                    row.passed
                };
                out.span(&service, thread, "mirror", packet, (row.stored, until));
                if self.waits_shown && row.passed > row.mirrored {
                    let held = (row.mirrored, row.passed);
                    out.wait(&service, thread, "room_wait", packet, held);
                }
            }
            idle_from = row.passed;
        }
        block
    }
}

/// The times at which one packet passes the stages at one node, ns.
#[derive(Clone, Copy, Default)]
struct Row {
    taken: u64,
    stored: u64,
    mirrored: u64,
    passed: u64,
}

struct Run {
    /// For each packet, the times at which the client was free to send it, began to send it, and
    /// had sent it, ns.
    sent: Vec<(u64, u64, u64)>,
    acked: Vec<u64>,
    nodes: Vec<Vec<Row>>,
}

impl Run {
    fn of(pipeline: &Pipeline) -> Self {
        let mut random = Random(pipeline.seed);
        let mut run = Run {
            sent: Vec::new(),
            acked: Vec::new(),
            nodes: vec![Vec::new(); NODES],
        };
        for packet in 0..pipeline.packets {
            // The random draws do not depend on the times, so making one component faster changes
            // only that component.
            let mut took = |ns: u64| {
                let wide = 2 * pipeline.spread_percent + 1;
                ns * (100 - pipeline.spread_percent + random.below(wide)) / 100
            };
            let free = run.sent.last().map_or(5000, |row| row.2);
            let room = packet
                .checked_sub(pipeline.window)
                .map_or(0, |old| run.acked[old]);
            let start = free.max(room);
            let end = start + took(pipeline.send_ns);
            run.sent.push((free, start, end));
            let mut arrives = end + pipeline.hop_ns;
            for node in 0..NODES {
                let before = run.nodes[node].last().map_or(0, |row| row.passed);
                let taken = arrives.max(before);
                let stored = taken + took(pipeline.disk_ns[node]);
                let mirrored = stored + took(pipeline.mirror_ns[node]);
                let next = run
                    .nodes
                    .get(node + 1)
                    .map(|rows| rows.as_slice())
                    .unwrap_or(&[]);
                let room = packet
                    .checked_sub(pipeline.buffer)
                    .and_then(|old| next.get(old));
                let passed = mirrored.max(room.map_or(0, |row| row.taken));
                run.nodes[node].push(Row {
                    taken,
                    stored,
                    mirrored,
                    passed,
                });
                arrives = passed + pipeline.hop_ns;
            }
            let stored = run
                .nodes
                .iter()
                .map(|rows| rows[packet].passed)
                .max()
                .unwrap_or(0);
            let before = run.acked.last().copied().unwrap_or(0);
            run.acked.push(before.max(stored + pipeline.hop_ns));
        }
        run
    }
}

struct Out {
    store: SpanStore,
    trace_id: u128,
}

impl Out {
    fn span(
        &mut self,
        service: &str,
        thread: u64,
        name: &str,
        parent_id: u64,
        (start, end): (u64, u64),
    ) -> u64 {
        let span_id = self.store.spans.len() as u64 + 1;
        let (name, service) = (self.store.intern(name), self.store.intern(service));
        self.store.spans.push(Span {
            trace_id: self.trace_id,
            span_id,
            parent_id,
            name,
            service,
            start_ns: 1_000_000 + start,
            end_ns: 1_000_000 + end,
            thread,
            ..Span::default()
        });
        span_id
    }

    fn wait(&mut self, service: &str, thread: u64, name: &str, parent: u64, times: (u64, u64)) {
        self.span(service, thread, name, parent, times);
        if let Some(span) = self.store.spans.last_mut() {
            span.wait = true;
        }
    }
}
