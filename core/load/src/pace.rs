//! When a client begins its operations: as soon as it can, after a pause, or when they are due.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dfslab_workload::{draw, Schedule, Start, Stream};

use crate::client::Client;
use crate::clock::monotonic_ns;
use crate::record::Record;
use crate::runner::Together;

/// A sleeping client looks this often whether it is to stop.
const LONGEST_SLEEP_NS: u64 = 20_000_000;
/// The last stretch before an operation is due is not slept but waited: the kernel wakes late.
const AWAKE_NS: u64 = 20_000;
/// A counter that all clients write to with every operation would slow them down.
const TELL_EVERY_NS: u64 = 10_000_000;

/// Sleep until a reading of the monotonic clock, or until told to stop.
pub fn sleep_until(due_ns: u64, over: &dyn Fn() -> bool) {
    loop {
        let left = due_ns.saturating_sub(monotonic_ns());
        if left == 0 || over() {
            return;
        }
        match left > AWAKE_NS {
            true => std::thread::sleep(Duration::from_nanos(
                (left - AWAKE_NS).min(LONGEST_SLEEP_NS),
            )),
            false => std::hint::spin_loop(),
        }
    }
}

/// Wake up when asked, not up to 50 µs later, which is the kernel's habit for ordinary threads.
fn wake_exactly() {
    // SAFETY: it sets one number of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize) };
}

/// One client's operations of one phase.
pub fn timed_phase(
    client: &mut Client,
    stream: &mut Stream,
    phase: usize,
    record: &mut Record,
    together: &Together,
) {
    let (plan, rules) = (together.setup.plan, &together.setup.phases[phase]);
    let zero = together.zero(phase);
    let limit_ns = plan.time_limit_s.map(|limit_s| (limit_s * 1e9) as u64);
    let deadline = limit_ns.map_or(u64::MAX, |limit| zero.saturating_add(limit));
    let over = |now: u64| {
        together.control.stopped()
            || together.errors.load(Ordering::Relaxed) > plan.max_errors
            || now >= deadline
    };
    // Each phase has times of its own.
    let seed = if phase == 0 {
        plan.stream.seed
    } else {
        draw(plan.stream.seed, phase as u64, 0, 40)
    };
    let clients = (client.number, plan.stream.clients);
    let arrival = &plan.stream.arrival;
    let mut schedule = Schedule::new(arrival, seed, clients, rules.think_time_s);
    let own_pauses = rules.mix.iter().any(|share| share.think_time_s.is_some());
    let paced = arrival.is_open() || own_pauses || rules.think_time_s > 0.0;
    if paced {
        wake_exactly();
    }
    client.now = monotonic_ns().max(zero);
    let (mut failed, mut told, mut untold) = (record.failures, client.now, 0);
    let mut first = true;
    while stream.is_in(phase) {
        let mut intended = None;
        if paced {
            let pause = if own_pauses {
                stream.own_pause_s()
            } else {
                None
            };
            let due = match schedule.next_start(pause) {
                Start::At(after_ns) => zero + after_ns,
                // Nobody thinks before the first operation of a closed loop.
                Start::After(_) if first && !arrival.is_open() => client.now,
                Start::After(pause_ns) => client.now + pause_ns,
                Start::Never => break,
            };
            if due > client.now {
                sleep_until(due.min(deadline), &|| over(0));
                client.now = monotonic_ns();
            }
            intended = arrival.is_open().then_some(due);
        }
        first = false;
        if over(client.now) {
            together.cut.store(true, Ordering::Release);
            break;
        }
        let Some(operation) = stream.next() else {
            break;
        };
        if plan.record {
            record.executed.push(operation);
        }
        if !client.execute(&operation, intended, record) {
            let now = record.failures;
            together.errors.fetch_add(now - failed, Ordering::Relaxed);
            failed = now;
        }
        untold += 1;
        if client.now.saturating_sub(told) >= TELL_EVERY_NS {
            together.control.count(untold);
            (told, untold) = (client.now, 0);
        }
    }
    together.control.count(untold);
    together.reached_wall(phase, record.last_end().unwrap_or_else(monotonic_ns));
}
