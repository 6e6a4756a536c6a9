//! Emulates several links at once: for each direction of a link, one thread delays and drops
//! packets until `stop` is set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::queue::Queue;
use crate::schedule::Schedule;

/// Interval at which each thread checks whether it must stop, ns.
const STOP_POLL_NS: u64 = 50_000_000;

/// One direction of a link: the queue that receives its packets, and the delay and loss to emulate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDirection {
    /// Path of the network namespace that has the queue, such as "/proc/PID/ns/net".
    pub netns: String,
    /// The number of the NFQUEUE queue in the namespace.
    pub queue: u16,
    /// Mean delay of a packet, s.
    pub delay_s: f64,
    /// Standard deviation of the delay, s. Jitter does not reorder packets.
    #[serde(default)]
    pub jitter_s: f64,
    /// Probability that a packet is dropped, from 0 to 1.
    #[serde(default)]
    pub loss: f64,
    /// Seed of the random numbers for jitter and loss.
    #[serde(default)]
    pub seed: u64,
}

/// The numbers of packets of one queue, and their largest lateness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkReport {
    /// Number of packets received (an unsegmented GSO packet counts once).
    pub packets: u64,
    /// Number of packets dropped on purpose.
    pub lost: u64,
    /// Largest time between a packet's scheduled and actual release, s.
    pub lateness_s_max: f64,
}

/// Delays and drops packets as each of `lines` says, until `stop` is set. Calls `ready` once all
/// queues are bound. Returns one report for each entry of `lines`, in the same order. An error on
/// any queue stops all threads. The returned error is one line of text that names the queue.
pub fn run(
    lines: &[LinkDirection],
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<Vec<LinkReport>, String> {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let threads: Vec<_> = lines
            .iter()
            .map(|line| {
                let sender = sender.clone();
                scope.spawn(move || {
                    let outcome = delay_packets(line, stop, &sender).map_err(|error| {
                        format!("queue {} of {}: {error}", line.queue, line.netns)
                    });
                    if outcome.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    outcome
                })
            })
            .collect();
        drop(sender);
        if receiver.iter().take(lines.len()).count() == lines.len() {
            ready();
        }
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic in a delay line"))
            .collect()
    })
}

fn delay_packets(
    line: &LinkDirection,
    stop: &AtomicBool,
    sender: &mpsc::Sender<()>,
) -> std::io::Result<LinkReport> {
    let mut queue = Queue::bind(&line.netns, line.queue)?;
    // By default the kernel may let this thread sleep up to 50 us longer than requested.
    // SAFETY: the call sets an attribute of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let _ = sender.send(());
    let began = Instant::now();
    let now = || began.elapsed().as_nanos() as u64;
    let mut schedule = Schedule::new(line.delay_s, line.jitter_s, line.loss, line.seed);
    let mut report = LinkReport::default();
    while !stop.load(Ordering::Relaxed) {
        if let Some((id, late)) = schedule.release(now()) {
            queue.accept_up_to(id)?;
            report.lateness_s_max = report.lateness_s_max.max(late as f64 * 1e-9);
        }
        let next = schedule.next_due_ns().unwrap_or(u64::MAX);
        let wait = next.saturating_sub(now()).min(STOP_POLL_NS);
        for id in queue.wait(wait)? {
            report.packets += 1;
            if !schedule.arrive(id, now()) {
                queue.lose(id)?;
                report.lost += 1;
            }
        }
    }
    Ok(report)
}
