//! Decides when a client starts each operation: at once, after a think time, or at a scheduled
//! time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dfslab_workload::{draw, Operation, Schedule, Start, Stream};

use crate::client::Client;
use crate::clock::{monotonic_ns, Clock};
use crate::execution::shared_state::SharedState;
use crate::record::completed::BATCH_MAX;
use crate::record::schedule::Begun;
use crate::record::series::Second;
use crate::record::Record;

/// Longest time that a client sleeps before it checks again whether to stop, ns.
const LONGEST_SLEEP_NS: u64 = 20_000_000;
/// Length of the busy wait at the end of a sleep, ns: the kernel wakes a sleeping thread late.
const AWAKE_NS: u64 = 20_000;
/// Interval at which a client adds its counts to the counters shared by all clients, ns. Updates
/// after every operation would be contended.
const PUBLISH_EVERY_NS: u64 = 10_000_000;

/// Sleeps until the monotonic clock reads `due_ns`, or until `over` returns true.
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

/// Busy-waits until `clock` reads `due_ns` or `over` returns true. Returns the last reading, ns.
fn awake_at(due_ns: u64, clock: &mut Clock, over: &dyn Fn() -> bool) -> u64 {
    loop {
        sleep_until(due_ns, over);
        let now = clock.now();
        if now >= due_ns || over() {
            return now;
        }
    }
}

/// Makes the kernel wake this thread exactly on time. By default, the kernel wakes ordinary threads
/// up to 50 µs late.
fn wake_exactly() {
    // SAFETY: the call sets an attribute of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize) };
}

/// Computes when one client starts its operations in one phase.
struct Pace<'a> {
    schedule: Schedule<'a>,
    /// The common start of the phase, ns of the monotonic clock.
    start_ns: u64,
    /// Whether operations have scheduled starts (an open workload).
    is_open: bool,
    /// Whether a share of the mix has a think time that differs from that of the phase.
    has_own_pauses: bool,
    /// Whether every operation starts as soon as the previous operation has ended.
    is_unpaced: bool,
    /// Number of operations that are fetched from the stream at a time. It is 1 if each operation
    /// has to wait for a think time after the previous operation.
    batch_most: usize,
    /// Whether no operation of the phase was begun yet.
    is_first: bool,
    /// Whether the next operation is an arrival of the open workload. If false, it is a later
    /// request of a session that has already arrived.
    is_arrival: bool,
    /// The arrivals whose operations were begun so far. The record of the phase gets them at its
    /// end.
    begun: Begun,
}

impl<'a> Pace<'a> {
    fn new(shared: &'a SharedState, phase: usize, client: u32) -> Self {
        let (stream, rules) = (&shared.setup.plan.stream, &shared.setup.phases[phase]);
        // Each phase draws different random arrival times.
        let seed = match phase {
            0 => stream.seed,
            later => draw(stream.seed, later as u64, 0, 40),
        };
        let clients = (client, stream.clients);
        let schedule = Schedule::new(&stream.arrival, seed, clients, rules.think_time_s);
        let open = stream.arrival.is_open();
        let own_pauses = rules.mix.iter().any(|share| share.think_time_s.is_some());
        let unpaced = !open && !own_pauses && rules.think_time_s == 0.0;
        // A think time that applies to only a share of the mix is known only when the operation is
        // taken from the stream. The starts of these operations cannot be computed in advance.
        let ahead = unpaced || schedule.waits_for_nobody() && !own_pauses;
        Pace {
            schedule,
            start_ns: shared.start_ns(phase),
            is_open: open,
            has_own_pauses: own_pauses,
            is_unpaced: unpaced,
            batch_most: if ahead { BATCH_MAX } else { 1 },
            is_first: true,
            is_arrival: false,
            begun: Begun::default(),
        }
    }

    /// Appends the next scheduled starts of a client to `due`, in ns of the monotonic clock. `now`
    /// is the time at which the client became idle. If starts are known in advance, appends up to
    /// `batch_most` of them. Otherwise appends one start. Appends nothing after the end of the
    /// schedule.
    fn ahead(&mut self, stream: &mut Stream, now: u64, due: &mut Vec<u64>) {
        if self.batch_most > 1 {
            self.is_arrival = true;
            return self.schedule.starts(self.start_ns, self.batch_most, due);
        }
        let pause = if self.has_own_pauses {
            stream.own_pause_s()
        } else {
            None
        };
        let start = self.schedule.next_start(pause);
        self.is_arrival = matches!(start, Start::At(_));
        due.extend(match start {
            Start::At(after_ns) => Some(self.start_ns.saturating_add(after_ns)),
            // The first operation of a closed loop has no think time.
            Start::After(_) if self.is_first && !self.is_open => Some(now),
            Start::After(pause_ns) => Some(now.saturating_add(pause_ns)),
            Start::Never => None,
        });
        self.is_first = false;
    }

    /// Records that the operations with the scheduled starts `due` were begun. `last_begun` is the
    /// time at which the last of them actually started. All times are in ns of the monotonic clock.
    fn began(&mut self, due: &[u64], last_begun: u64) {
        let begun = &mut self.begun;
        begun.operations += due.len() as u64;
        if let ([first, ..], [.., last], true) = (due, due, self.is_arrival) {
            if begun.arrivals == 0 {
                begun.first_due = *first;
            }
            begun.arrivals += due.len() as u64;
            (begun.last_due, begun.last_begun) = (*last, last_begun);
        }
    }
}

/// A batch of operations of one phase, with their scheduled starts.
struct Row {
    operations: Vec<Operation>,
    /// Scheduled starts, ns of the monotonic clock; empty where operations start without a
    /// schedule.
    due: Vec<u64>,
    next: usize,
}

impl Row {
    fn new(most: usize) -> Self {
        Row {
            operations: Vec::with_capacity(most),
            due: Vec::with_capacity(most),
            next: 0,
        }
    }

    /// Whether all operations of the batch have been executed.
    fn is_over(&self) -> bool {
        self.next == self.operations.len()
    }

    /// Fetches the next batch of operations of the phase from the stream and computes their starts.
    /// `now` is the time at which the client became idle, in ns of the monotonic clock.
    fn fill(&mut self, pace: &mut Pace, stream: &mut Stream, phase: usize, now: u64) {
        self.next = 0;
        self.operations.clear();
        self.due.clear();
        if !stream.is_in(phase) {
            return;
        }
        let mut most = pace.batch_most;
        if !pace.is_unpaced {
            pace.ahead(stream, now, &mut self.due);
            most = self.due.len();
        }
        stream.ahead(phase, most, &mut self.operations);
    }

    /// Returns the operations to execute now, and their scheduled starts if there are any. These
    /// are the operations whose scheduled start is not after `now`, at most `most` of them and at
    /// least one.
    fn ready(&self, now: u64, most: usize) -> (&[Operation], Option<&[u64]>) {
        let end = self.operations.len().min(self.next + most);
        let rest = &self.operations[self.next..end];
        if self.due.is_empty() {
            return (rest, None);
        }
        let due = &self.due[self.next..end];
        let count = match due.last() {
            Some(last) if *last <= now => due.len(),
            _ => due.partition_point(|due| *due <= now).max(1),
        };
        (&rest[..count], Some(&due[..count]))
    }
}

/// Updates the counters that all clients share. Adds the operations that this client has completed
/// since the previous call. `before` has the client's totals at the previous call and is updated.
#[cold]
fn publish(shared: &SharedState, before: &mut Second, record: &mut Record) {
    let part = record.part();
    let now = part.so_far();
    shared.control.publish(before, &now, &mut part.latencies);
    *before = now;
}

/// Executes one client's operations of one phase and records them, until the phase ends, the run
/// stops or the time limit is reached.
pub fn timed_phase(
    client: &mut Client,
    stream: &mut Stream,
    phase: usize,
    record: &mut Record,
    shared: &SharedState,
) {
    let plan = shared.setup.plan;
    let mut pace = Pace::new(shared, phase, client.number);
    let limit_ns = plan.time_limit_s.map(|limit_s| (limit_s * 1e9) as u64);
    let deadline = limit_ns.map_or(u64::MAX, |limit| pace.start_ns.saturating_add(limit));
    let stopped =
        || shared.control.stopped() || shared.errors.load(Ordering::Relaxed) > plan.max_errors;
    if !pace.is_unpaced {
        wake_exactly();
    }
    client.now = awake_at(pace.start_ns, &mut client.clock, &stopped);
    let (mut failed, mut reported_at, mut before) =
        (record.failures, client.now, Second::default());
    let mut row = Row::new(pace.batch_most);
    loop {
        if row.is_over() {
            // Operations are counted between batches, when progress is published and on errors.
            record.settle();
            row.fill(&mut pace, stream, phase, client.now);
            if row.is_over() {
                break;
            }
            client.read_clock();
        }
        let due = row.due.get(row.next).map_or(0, |due| deadline.min(*due));
        if due > client.now {
            client.slot.idle();
            client.now = awake_at(due, &mut client.clock, &stopped);
        }
        if stopped() || client.now >= deadline {
            shared.is_cut.store(true, Ordering::Release);
            break;
        }
        // If the run records its operations, they are executed one at a time. Otherwise the record
        // could lack the operation during which a client crashed.
        let (operations, due) = row.ready(client.now, if plan.record { 1 } else { BATCH_MAX });
        if plan.record {
            let begun = |one: &Operation| (*one, client.now);
            record.executed.extend(operations.iter().map(begun));
        }
        let look_at = deadline.min(reported_at + PUBLISH_EVERY_NS);
        let go_on = move |now: u64| now < look_at && !stopped();
        let ran = client.execute_row(operations, due.filter(|_| pace.is_open), record, go_on);
        if pace.is_open {
            pace.began(due.map_or(&[], |due| &due[..ran.begun]), ran.last_begun);
        }
        row.next += ran.begun;
        if record.failures > failed {
            let more = record.failures - failed;
            shared.errors.fetch_add(more, Ordering::Relaxed);
            failed = record.failures;
            client.read_clock();
        }
        if client.now.saturating_sub(reported_at) >= PUBLISH_EVERY_NS {
            reported_at = client.now;
            publish(shared, &mut before, record);
            shared.copy(client, record);
            client.read_clock();
        }
    }
    publish(shared, &mut before, record);
    record.part().begun = pace.begun;
    shared.reached_wall(phase, record.last_end().unwrap_or_else(monotonic_ns));
}
