//! The load generator's clock. It gives the time of CLOCK_MONOTONIC in nanoseconds. Where the
//! processor's time-stamp counter is reliable, the time is computed from this counter.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::report::CpuReport;

/// Ticks of the time-stamp counter after which the kernel's clock is read again: about 50 ms.
const ANCHOR_TICKS: u64 = 1 << 27;
const CALIBRATION: Duration = Duration::from_millis(10);
/// The scale (nanoseconds per tick) is a fixed-point number with this number of fractional bits.
const FRACTION: u32 = 32;

/// Returns the present reading of the kernel's CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    let mut clock = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the structure that it is given; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut clock) };
    clock.tv_sec as u64 * 1_000_000_000 + clock.tv_nsec as u64
}

/// Converts an instant to a reading of CLOCK_MONOTONIC, ns.
pub fn ns_of(instant: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), monotonic_ns());
    let ahead = instant.saturating_duration_since(now).as_nanos() as u64;
    let behind = now.saturating_duration_since(instant).as_nanos() as u64;
    now_ns.saturating_add(ahead).saturating_sub(behind)
}

/// Processor time of the calling thread, nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let mut clock = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the structure that it is given; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut clock) };
    clock.tv_sec as u64 * 1_000_000_000 + clock.tv_nsec as u64
}

/// Processor time that this process has used so far, in user mode and in the kernel, s.
pub fn cpu_time() -> CpuReport {
    // SAFETY: getrusage fills the structure that it is given; a structure of zeroes is valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    CpuReport {
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
    }
}

/// The clock of one thread. It reads the processor's time-stamp counter if the kernel uses that
/// counter as its own clock source. The kernel does so only if the counter has a constant rate that
/// is synchronous on all cores. Reading the counter takes a third of the time of a system call for
/// the clock. The kernel's clock is read again every 50 ms, so that the two clocks differ by at
/// most some 100 ns.
pub struct Clock {
    /// Nanoseconds per tick of the time-stamp counter, in units of 2^-32. 0 means that every
    /// reading is a call into the kernel.
    scale: u64,
    /// Ticks after `base_ticks` for which the counter is used before the kernel's clock is read
    /// again.
    trusted: u64,
    base_ticks: u64,
    base_ns: u64,
    last_ns: u64,
    first: (u64, u64),
}

impl Clock {
    pub fn new() -> Self {
        let scale = *scale();
        let (base_ticks, base_ns) = pair();
        Clock {
            scale,
            trusted: trusted(scale),
            base_ticks,
            base_ns,
            last_ns: base_ns,
            first: (base_ticks, base_ns),
        }
    }

    /// Returns the present time in nanoseconds of CLOCK_MONOTONIC; the result never decreases.
    #[inline]
    pub fn now(&mut self) -> u64 {
        let since = ticks().wrapping_sub(self.base_ticks);
        if since >= self.trusted {
            return self.anchored();
        }
        let ns = self.base_ns + ((u128::from(since) * u128::from(self.scale)) >> FRACTION) as u64;
        self.last_ns = self.last_ns.max(ns);
        self.last_ns
    }

    #[cold]
    fn anchored(&mut self) -> u64 {
        if self.scale == 0 {
            return monotonic_ns();
        }
        (self.base_ticks, self.base_ns) = pair();
        // The ratio is computed over the whole time since the first reading, because a longer
        // interval gives a more accurate ratio.
        self.scale = ratio(self.first, (self.base_ticks, self.base_ns)).unwrap_or(self.scale);
        self.trusted = trusted(self.scale);
        self.last_ns = self.last_ns.max(self.base_ns);
        self.last_ns
    }
}

/// Number of ticks after which the kernel's clock is read again; until then, the counter is used. 0
/// for an unreliable counter, whose scale is 0.
fn trusted(scale: u64) -> u64 {
    match scale {
        0 => 0,
        _ => ANCHOR_TICKS,
    }
}

/// Reads the time-stamp counter (ticks) and the kernel's clock (ns) at nearly the same time. Makes
/// several attempts. Returns the pair of readings with the shortest time between them.
fn pair() -> (u64, u64) {
    let attempt = || {
        let before = ticks();
        let ns = monotonic_ns();
        let after = ticks();
        (
            after.wrapping_sub(before),
            before.wrapping_add(after.wrapping_sub(before) / 2),
            ns,
        )
    };
    let best = (0..5).map(|_| attempt()).min_by_key(|(width, _, _)| *width);
    best.map_or((0, 0), |(_, ticks, ns)| (ticks, ns))
}

/// Nanoseconds per tick, in units of 2^-32, between two readings (ticks, ns). None if the readings
/// are too close together for an accurate ratio.
fn ratio(from: (u64, u64), to: (u64, u64)) -> Option<u64> {
    let (ticks, ns) = (to.0.wrapping_sub(from.0), to.1.saturating_sub(from.1));
    let enough = ns >= CALIBRATION.as_nanos() as u64 && ticks > 0;
    enough.then(|| ((u128::from(ns) << FRACTION) / u128::from(ticks)) as u64)
}

/// Returns nanoseconds per tick of the time-stamp counter, in units of 2^-32. The value is measured
/// once in each process. It is 0 if the counter is unreliable.
fn scale() -> &'static u64 {
    static SCALE: OnceLock<u64> = OnceLock::new();
    SCALE.get_or_init(|| {
        if !is_kernels_own() {
            return 0;
        }
        let from = pair();
        std::thread::sleep(CALIBRATION);
        ratio(from, pair()).unwrap_or(0)
    })
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: reading the time-stamp counter has no effect; every x86-64 processor can.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Whether the kernel uses the time-stamp counter as its own clock source. The kernel does so only
/// after a check that the counters of all cores agree.
fn is_kernels_own() -> bool {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_kernel_and_never_goes_back() {
        let (mut clock, mut before) = (Clock::new(), 0);
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            let (low, observed, high) = (monotonic_ns(), clock.now(), monotonic_ns());
            assert!(observed >= before);
            before = observed;
            // The tolerance of 20 µs is far above the difference between two correct clocks. It is
            // far below the difference that a wrong scale would cause.
            assert!(
                low < observed + 20_000 && observed < high + 20_000,
                "{low} {observed} {high}"
            );
        }
    }

    #[test]
    fn instants_are_readings() {
        let low = monotonic_ns();
        let ahead = ns_of(Instant::now() + Duration::from_secs(3)) - 3_000_000_000;
        let high = monotonic_ns();
        assert!((low..=high).contains(&ahead), "{low} {ahead} {high}");
    }
}
