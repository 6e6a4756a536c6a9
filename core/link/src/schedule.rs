//! Decides when each packet of a link is released and which packets are lost. The decisions depend
//! only on the seed and on the arrival times.

use std::collections::VecDeque;

use dfslab_workload::{draw, normal, unit};

const LOSS: u64 = 1;
const JITTER: u64 = 2;

/// The packets that wait on one direction of a link, in order of arrival, with their release times.
/// A packet is never released before a packet that arrived earlier, so jitter does not reorder
/// packets.
pub struct Schedule {
    delay_ns: f64,
    jitter_ns: f64,
    loss: f64,
    seed: u64,
    arrived: u64,
    waiting: VecDeque<(u32, u64)>,
    last_due_ns: u64,
}

impl Schedule {
    /// Creates the empty schedule of one direction of a link. The arguments are the mean delay and
    /// its standard deviation (jitter) in seconds, the probability that a packet is lost, and a
    /// seed.
    pub fn new(delay_s: f64, jitter_s: f64, loss: f64, seed: u64) -> Self {
        Schedule {
            delay_ns: delay_s * 1e9,
            jitter_ns: jitter_s * 1e9,
            loss,
            seed,
            arrived: 0,
            waiting: VecDeque::new(),
            last_due_ns: 0,
        }
    }

    /// Registers the arrival of the packet `id` at `now_ns` and draws its delay. Returns false if
    /// the packet is lost.
    pub fn arrive(&mut self, id: u32, now_ns: u64) -> bool {
        let number = self.arrived;
        self.arrived += 1;
        if self.loss > 0.0 && unit(draw(self.seed, number, 0, LOSS)) < self.loss {
            return false;
        }
        let mut delay = self.delay_ns;
        if self.jitter_ns > 0.0 {
            let first = draw(self.seed, number, 0, JITTER);
            let second = draw(self.seed, number, 1, JITTER);
            delay += self.jitter_ns * normal(first, second);
        }
        let due = now_ns + delay.max(0.0) as u64;
        self.last_due_ns = self.last_due_ns.max(due);
        self.waiting.push_back((id, self.last_due_ns));
        true
    }

    /// Removes all packets whose release time is `now_ns` or earlier. Returns (id of the last
    /// removed packet, longest lateness of a removed packet in ns). Returns None if no packet was
    /// removed.
    pub fn release(&mut self, now_ns: u64) -> Option<(u32, u64)> {
        let mut last = None;
        while let Some(&(id, due)) = self.waiting.front().filter(|(_, due)| *due <= now_ns) {
            let late = last.map_or(0, |(_, late)| late).max(now_ns - due);
            last = Some((id, late));
            self.waiting.pop_front();
        }
        last
    }

    /// The release time of the next packet, ns; None if no packet waits.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(_, due)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_after_the_delay_and_all_due_at_once() {
        let mut schedule = Schedule::new(1e-3, 0.0, 0.0, 1);
        assert!(schedule.arrive(1, 0));
        assert!(schedule.arrive(2, 400_000));
        assert_eq!(schedule.next_due_ns(), Some(1_000_000));
        assert_eq!(schedule.release(999_999), None);
        assert_eq!(schedule.release(1_500_000), Some((2, 500_000)));
        assert_eq!(schedule.next_due_ns(), None);
    }

    #[test]
    fn jitter_has_its_mean_and_deviation_and_keeps_the_order() {
        // Arrivals are far enough apart that no packet waits for the previous packet.
        let mut schedule = Schedule::new(5e-3, 1e-3, 0.0, 3);
        let mut delays = Vec::new();
        for id in 0..20_000u32 {
            let now = u64::from(id) * 100_000_000;
            schedule.arrive(id, now);
            let due = schedule.next_due_ns().expect("it waits");
            delays.push((due - now) as f64);
            assert_eq!(schedule.release(due), Some((id, 0)));
        }
        let count = delays.len() as f64;
        let mean = delays.iter().sum::<f64>() / count;
        let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / count;
        // The tolerances are three standard errors of the mean and of the standard deviation.
        assert!((mean - 5e6).abs() < 3.0 * 1e6 / count.sqrt(), "mean {mean}");
        assert!((variance.sqrt() - 1e6).abs() < 3.0 * 1e6 / (2.0 * count).sqrt());
        let mut crowded = Schedule::new(5e-3, 1e-3, 0.0, 4);
        let mut before = 0;
        for id in 0..1000 {
            crowded.arrive(id, u64::from(id) * 1000);
            let due = crowded.waiting.back().expect("it waits").1;
            assert!(due >= before, "packet {id} would overtake");
            before = due;
        }
    }

    #[test]
    fn loss_has_its_share_and_is_the_same_for_the_same_seed() {
        let lost = |seed| {
            let mut schedule = Schedule::new(0.0, 0.0, 0.2, seed);
            (0..20_000)
                .map(|id| !schedule.arrive(id, 0))
                .collect::<Vec<_>>()
        };
        let count = lost(7).iter().filter(|lost| **lost).count() as f64;
        let deviation = (20_000.0 * 0.2 * 0.8f64).sqrt();
        assert!((count - 4000.0).abs() < 4.0 * deviation, "{count} lost");
        assert_eq!(lost(7), lost(7));
        assert_ne!(lost(7), lost(8));
    }
}
