//! Layers around any target (the file system under load), which throttle, stall, delay, fail or
//! time out its calls. They serve to test methods of measurement.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dfslab_workload::{draw, unit};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Call, File, Target};
use crate::clock::monotonic_ns;
use crate::{Error, ErrorKind, Result};

/// One layer around the target. A layer acts on timed operations only, not on preparation, checks
/// and removal.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Layer {
    /// Limits the rates of calls and of bytes, summed over all clients of this process.
    Throttle {
        /// Largest number of calls per second; unlimited by default.
        #[serde(default)]
        calls_per_s: Option<f64>,
        /// Largest number of bytes per second; unlimited by default.
        #[serde(default)]
        bytes_per_s: Option<f64>,
    },
    /// A call that takes longer than `after_s` counts as failed. It is not aborted.
    Timeout {
        /// The time that a call may take, s.
        after_s: f64,
    },
    /// Calls fail with a given probability before they reach the target.
    Fault {
        /// The probability of a failure, from 0 to 1.
        probability: f64,
    },
    /// Calls that arrive in the last `length_s` seconds of a period of `period_s` seconds wait
    /// until the period ends.
    Stall {
        /// Length of a period in seconds. Periods count from the common start.
        period_s: f64,
        /// Length of the stall at the end of each period, s.
        length_s: f64,
    },
    /// Every call takes `by_s` seconds longer.
    Delay {
        /// The time by which every call is delayed, s.
        by_s: f64,
    },
}

impl Layer {
    /// Checks the values of the layer. An error names the key and the allowed values.
    pub fn check(&self) -> Result<()> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let right = match *self {
            Layer::Throttle {
                calls_per_s,
                bytes_per_s,
            } => {
                calls_per_s.is_none_or(positive)
                    && bytes_per_s.is_none_or(positive)
                    && calls_per_s.or(bytes_per_s).is_some()
            }
            Layer::Timeout { after_s } => positive(after_s),
            Layer::Fault { probability } => (0.0..=1.0).contains(&probability),
            Layer::Stall { period_s, length_s } => {
                positive(length_s) && length_s <= period_s && period_s <= 1e6
            }
            Layer::Delay { by_s } => positive(by_s) && by_s <= 1e6,
        };
        let reason = || format!("{self:?}; allowed: positive rates and times, probability 0 to 1");
        right
            .then_some(())
            .ok_or_else(|| Error::input("layers", reason()))
    }
}

/// The layers around the target of one run, with state that all clients share.
pub struct Layers(Arc<Shared>);

struct Shared {
    layers: Vec<Layer>,
    seed: u64,
    /// Start of the timed part, ns of the monotonic clock. Outside the timed part it is 0, and no
    /// layer acts.
    zero: AtomicU64,
    /// Time at which the imaginary channel through which throttled calls pass is free again, ns of
    /// the monotonic clock.
    free_at: AtomicU64,
    counts: [AtomicU64; COUNTED.len()],
}

/// The longest idle time of a throttled target that counts as credit, in ns. As in a token bucket,
/// the credit allows a burst: as many calls as fit into this time pass without delay.
const BURST_NS: u64 = 20_000_000;
const COUNTED: [&str; 4] = ["stalled", "failed", "timed_out", "throttled"];
const STALLED: usize = 0;
const FAILED: usize = 1;
const TIMED_OUT: usize = 2;
const THROTTLED: usize = 3;

impl Layers {
    pub fn new(layers: &[Layer], seed: u64) -> Self {
        Layers(Arc::new(Shared {
            layers: layers.to_vec(),
            seed,
            zero: AtomicU64::new(0),
            free_at: AtomicU64::new(0),
            counts: Default::default(),
        }))
    }

    /// Returns `target`, the target of the client number `client`, inside the layers. Returns the
    /// target unchanged if there are no layers.
    pub fn around(&self, target: Box<dyn Target>, client: u32) -> Box<dyn Target> {
        if self.0.layers.is_empty() {
            return target;
        }
        let interceptor = Interceptor {
            shared: Arc::clone(&self.0),
            client,
            calls: Arc::new(AtomicU64::new(0)),
        };
        Box::new(Layered {
            target,
            interceptor,
        })
    }

    /// Starts the timed part of a phase at `zero`, ns of the monotonic clock. From now on the
    /// layers act; the periods of stalls count from `zero`.
    pub fn begin(&self, zero: u64) {
        self.0.zero.store(zero, Ordering::Release);
    }

    /// Ends the timed part of a phase, after which no layer acts.
    pub fn end(&self) {
        self.0.zero.store(0, Ordering::Release);
    }

    /// Returns the number of calls that layers affected, by effect: "stalled", "failed",
    /// "timed_out" and "throttled". Effects that did not occur are left out. Calls that only a
    /// delay layer delayed are not counted.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let counts = COUNTED.iter().zip(&self.0.counts);
        counts
            .map(|(name, count)| (name.to_string(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

/// Applies the layers to every call of one client.
#[derive(Clone)]
struct Interceptor {
    shared: Arc<Shared>,
    client: u32,
    calls: Arc<AtomicU64>,
}

impl Interceptor {
    fn intercept<T>(
        &self,
        operation: &'static str,
        bytes: u64,
        call: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let zero = self.shared.zero.load(Ordering::Acquire);
        if zero == 0 {
            return call();
        }
        let arrived = monotonic_ns();
        for layer in &self.shared.layers {
            self.before(layer, operation, (zero, bytes))?;
        }
        let outcome = call();
        let took_s = (monotonic_ns() - arrived) as f64 * 1e-9;
        for layer in &self.shared.layers {
            if let Layer::Timeout { after_s } = layer {
                if took_s > *after_s {
                    self.count(TIMED_OUT);
                    let reason = format!("took {took_s:.3} s, {after_s} s are allowed");
                    return Err(Error::new(ErrorKind::Timeout, operation, "", reason));
                }
            }
        }
        outcome
    }

    fn before(
        &self,
        layer: &Layer,
        operation: &'static str,
        (zero, bytes): (u64, u64),
    ) -> Result<()> {
        match *layer {
            Layer::Throttle {
                calls_per_s,
                bytes_per_s,
            } => {
                let takes_s = calls_per_s.map_or(0.0, |rate| 1.0 / rate)
                    + bytes_per_s.map_or(0.0, |rate| bytes as f64 / rate);
                self.throttle((takes_s * 1e9) as u64);
            }
            Layer::Fault { probability } => {
                let call = self.calls.fetch_add(1, Ordering::Relaxed);
                let client = u64::from(self.client) | 5 << 32;
                if unit(draw(self.shared.seed, client, call, 48)) < probability {
                    self.count(FAILED);
                    return Err(Error::new(
                        ErrorKind::Other,
                        operation,
                        "",
                        "a planted fault",
                    ));
                }
            }
            Layer::Stall { period_s, length_s } => {
                let (period, length) = ((period_s * 1e9) as u64, (length_s * 1e9) as u64);
                let within = monotonic_ns().saturating_sub(zero) % period;
                if within >= period - length {
                    self.count(STALLED);
                    wait_until(monotonic_ns() + period - within);
                }
            }
            Layer::Delay { by_s } => wait_until(monotonic_ns() + (by_s * 1e9) as u64),
            Layer::Timeout { .. } => {}
        }
        Ok(())
    }

    /// Delays a call so that the calls of all clients together keep the rate limit. The calls pass
    /// one after the other through an imaginary channel. This call occupies the channel for
    /// `takes_ns`. If a thread wakes up late, later calls wait less, until the lost time is made
    /// up.
    fn throttle(&self, takes_ns: u64) {
        let now = monotonic_ns();
        let free = passed(&self.shared.free_at, now, takes_ns);
        if free > now {
            self.count(THROTTLED);
            wait_until(free);
        }
    }

    fn count(&self, what: usize) {
        self.shared.counts[what].fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the time in ns at which a call leaves a serial channel that it occupies for `takes_ns`.
/// The call arrives at `now`, and the channel becomes free at `free_at`, which is updated.
fn passed(free_at: &AtomicU64, now: u64, takes_ns: u64) -> u64 {
    let earliest = now.saturating_sub(BURST_NS);
    let after = |free: u64| free.max(earliest) + takes_ns;
    let take = |free: u64| Some(after(free));
    let before = free_at.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
    after(before.unwrap_or(now))
}

fn wait_until(due_ns: u64) {
    while let Some(left) = due_ns.checked_sub(monotonic_ns()).filter(|left| *left > 0) {
        std::thread::sleep(Duration::from_nanos(left));
    }
}

struct Layered {
    target: Box<dyn Target>,
    interceptor: Interceptor,
}

struct LayeredFile {
    file: Box<dyn File>,
    interceptor: Interceptor,
}

impl Layered {
    fn file(&self, file: Box<dyn File>) -> Box<dyn File> {
        let interceptor = self.interceptor.clone();
        Box::new(LayeredFile { file, interceptor })
    }
}

impl Target for Layered {
    fn create(&mut self, path: &str) -> Result<Box<dyn File>> {
        let file = self
            .interceptor
            .intercept("create", 0, || self.target.create(path))?;
        Ok(self.file(file))
    }

    fn open(&mut self, path: &str) -> Result<Box<dyn File>> {
        let file = self
            .interceptor
            .intercept("open", 0, || self.target.open(path))?;
        Ok(self.file(file))
    }

    fn append(&mut self, path: &str) -> Result<Box<dyn File>> {
        let file = self
            .interceptor
            .intercept("append", 0, || self.target.append(path))?;
        Ok(self.file(file))
    }

    fn open_write(&mut self, path: &str) -> Result<Box<dyn File>> {
        let file = self
            .interceptor
            .intercept("open_write", 0, || self.target.open_write(path))?;
        Ok(self.file(file))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        self.interceptor
            .intercept("stat", 0, || self.target.stat(path))
    }

    fn exists(&mut self, path: &str) -> Result<bool> {
        self.interceptor
            .intercept("exists", 0, || self.target.exists(path))
    }

    fn list(&mut self, path: &str) -> Result<usize> {
        self.interceptor
            .intercept("list", 0, || self.target.list(path))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        self.interceptor
            .intercept("rename", 0, || self.target.rename(from, to))
    }

    fn delete(&mut self, path: &str) -> Result<()> {
        self.interceptor
            .intercept("delete", 0, || self.target.delete(path))
    }

    fn mkdir(&mut self, path: &str) -> Result<()> {
        self.interceptor
            .intercept("mkdir", 0, || self.target.mkdir(path))
    }

    fn rmdir(&mut self, path: &str) -> Result<()> {
        self.interceptor
            .intercept("rmdir", 0, || self.target.rmdir(path))
    }

    fn truncate(&mut self, path: &str, bytes: u64) -> Result<()> {
        self.interceptor
            .intercept("truncate", 0, || self.target.truncate(path, bytes))
    }

    fn chmod(&mut self, path: &str, mode: u32) -> Result<()> {
        self.interceptor
            .intercept("chmod", 0, || self.target.chmod(path, mode))
    }

    fn set_xattr(&mut self, path: &str, value: &[u8]) -> Result<()> {
        self.interceptor
            .intercept("set_xattr", 0, || self.target.set_xattr(path, value))
    }

    fn get_xattr(&mut self, path: &str) -> Result<usize> {
        self.interceptor
            .intercept("get_xattr", 0, || self.target.get_xattr(path))
    }

    fn drop_cache(&mut self, path: &str) -> Result<()> {
        self.target.drop_cache(path)
    }
    fn settle(&mut self) -> Result<()> {
        self.target.settle()
    }
    fn opens_by_name(&self) -> bool {
        self.target.opens_by_name()
    }
    fn reports_calls(&self) -> bool {
        self.target.reports_calls()
    }
    fn calls(&self, found: &mut Vec<Call>) {
        self.target.calls(found);
    }
}

impl File for LayeredFile {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let bytes = buffer.len() as u64;
        self.interceptor
            .intercept("read", bytes, || self.file.read(buffer))
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = buffer.len() as u64;
        self.interceptor
            .intercept("read", bytes, || self.file.read_at(buffer, offset))
    }

    fn write(&mut self, bytes: Bytes) -> Result<()> {
        let length = bytes.len() as u64;
        self.interceptor
            .intercept("write", length, || self.file.write(bytes))
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let length = bytes.len() as u64;
        self.interceptor
            .intercept("write", length, || self.file.write_at(bytes, offset))
    }

    fn fsync(&mut self) -> Result<()> {
        self.interceptor.intercept("fsync", 0, || self.file.fsync())
    }

    fn lock(&mut self) -> Result<()> {
        self.interceptor.intercept("lock", 0, || self.file.lock())
    }

    fn unlock(&mut self) -> Result<()> {
        self.interceptor
            .intercept("unlock", 0, || self.file.unlock())
    }

    fn close(self: Box<Self>) -> Result<()> {
        let LayeredFile { file, interceptor } = *self;
        interceptor.intercept("close", 0, || file.close())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the time in ns at which the last of `calls` calls leaves a channel. Each call
    /// occupies the channel for 1 ms. Each call is made when the previous call has left the channel
    /// and its caller has woken up, which is `late_ns` late.
    fn last_of(calls: u64, late_ns: u64) -> u64 {
        let (free_at, begin) = (AtomicU64::new(0), 1000 * MS);
        let mut now = begin;
        for _ in 0..calls {
            now = now.max(passed(&free_at, now, MS) + late_ns);
        }
        now - begin
    }

    #[test]
    fn a_throttled_channel_keeps_its_rate_if_a_call_is_late() {
        // Idle time before the first call is credited, so 20 calls of 1 ms pass at once.
        assert_eq!(last_of(300, 0), 280 * MS);
        // If a call wakes up late, the lost time is credited to the next call. Only the lateness of
        // the last call therefore adds to the total.
        assert_eq!(last_of(300, MS / 2), 280 * MS + MS / 2);
        // A call after a long idle time is not delayed.
        assert_eq!(last_of(1, 0), 0);
    }
}
