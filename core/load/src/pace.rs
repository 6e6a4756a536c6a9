//! When a client begins its operations: as soon as it can, after a pause, or when they are due.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dfslab_workload::{draw, Operation, Schedule, Start, Stream};

use crate::client::Client;
use crate::clock::monotonic_ns;
use crate::ended::TOGETHER;
use crate::record::Record;
use crate::runner::Together;
use crate::schedule::Begun;
use crate::series::Second;

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

/// When the operations of one client in one phase are due.
struct Pace<'a> {
    schedule: Schedule<'a>,
    zero: u64,
    /// Operations have intended starts.
    open: bool,
    own_pauses: bool,
    /// Nobody waits for anything.
    unpaced: bool,
    first: bool,
    /// The operation that is due is an arrival, not a later one of its session.
    arrives: bool,
    begun: Begun,
}

impl<'a> Pace<'a> {
    fn new(together: &'a Together, phase: usize, client: u32) -> Self {
        let (stream, rules) = (&together.setup.plan.stream, &together.setup.phases[phase]);
        // Each phase has times of its own.
        let seed = match phase {
            0 => stream.seed,
            later => draw(stream.seed, later as u64, 0, 40),
        };
        let clients = (client, stream.clients);
        let open = stream.arrival.is_open();
        let own_pauses = rules.mix.iter().any(|share| share.think_time_s.is_some());
        Pace {
            schedule: Schedule::new(&stream.arrival, seed, clients, rules.think_time_s),
            zero: together.zero(phase),
            open,
            own_pauses,
            unpaced: !open && !own_pauses && rules.think_time_s == 0.0,
            first: true,
            arrives: false,
            begun: Begun::default(),
        }
    }

    /// When the next operation of a client that is free since `now` is due; None when none comes.
    #[inline]
    fn due(&mut self, stream: &mut Stream, now: u64) -> Option<u64> {
        if self.unpaced {
            return Some(now);
        }
        let pause = if self.own_pauses {
            stream.own_pause_s()
        } else {
            None
        };
        let start = self.schedule.next_start(pause);
        self.arrives = matches!(start, Start::At(_));
        let due = match start {
            Start::At(after_ns) => self.zero + after_ns,
            // Nobody thinks before the first operation of a closed loop.
            Start::After(_) if self.first && !self.open => now,
            Start::After(pause_ns) => now + pause_ns,
            Start::Never => return None,
        };
        self.first = false;
        Some(due)
    }

    /// The operation that was due then begins now.
    #[inline]
    fn begin(&mut self, due: u64, now: u64) {
        let begun = &mut self.begun;
        begun.operations += 1;
        if self.arrives {
            if begun.arrivals == 0 {
                begun.first_due = due;
            }
            begun.arrivals += 1;
            (begun.last_due, begun.last_begun) = (due, now);
        }
    }
}

/// Operations of one phase that were worked out ahead, many at once.
struct Ahead {
    operations: Vec<Operation>,
    next: usize,
    most: usize,
}

impl Ahead {
    /// At most so many ahead.
    fn new(most: usize) -> Self {
        Ahead {
            operations: Vec::with_capacity(most),
            next: 0,
            most,
        }
    }

    fn is_empty(&self) -> bool {
        self.next == self.operations.len()
    }

    /// The next one.
    #[inline]
    fn take(&mut self, stream: &mut Stream, phase: usize) -> Option<&Operation> {
        if self.is_empty() {
            self.fill(stream, phase);
        }
        let operation = self.operations.get(self.next)?;
        self.next += 1;
        Some(operation)
    }

    #[inline(never)]
    fn fill(&mut self, stream: &mut Stream, phase: usize) {
        self.next = 0;
        self.operations.clear();
        stream.ahead(phase, self.most, &mut self.operations);
    }
}

/// Say what was done since it was said last.
#[cold]
fn tell(together: &Together, before: &mut Second, record: &mut Record) {
    let now = record.part().so_far();
    together.control.tell(before, &now);
    *before = now;
}

/// One client's operations of one phase.
pub fn timed_phase(
    client: &mut Client,
    stream: &mut Stream,
    phase: usize,
    record: &mut Record,
    together: &Together,
) {
    let plan = together.setup.plan;
    let mut pace = Pace::new(together, phase, client.number);
    let limit_ns = plan.time_limit_s.map(|limit_s| (limit_s * 1e9) as u64);
    let deadline = limit_ns.map_or(u64::MAX, |limit| pace.zero.saturating_add(limit));
    let over = |now: u64| {
        together.control.stopped()
            || together.errors.load(Ordering::Relaxed) > plan.max_errors
            || now >= deadline
    };
    if !pace.unpaced {
        wake_exactly();
    }
    client.now = monotonic_ns().max(pace.zero);
    let (mut failed, mut told, mut before) = (record.failures, client.now, Second::default());
    // An operation's own pause is asked of the stream before it is taken.
    let mut ahead = Ahead::new(if pace.own_pauses { 1 } else { TOGETHER });
    while !ahead.is_empty() || stream.is_in(phase) {
        let Some(due) = pace.due(stream, client.now) else {
            break;
        };
        if due > client.now {
            sleep_until(due.min(deadline), &|| over(0));
            client.now = monotonic_ns();
        }
        if over(client.now) {
            together.cut.store(true, Ordering::Release);
            break;
        }
        let Some(operation) = ahead.take(stream, phase) else {
            break;
        };
        if pace.open {
            pace.begin(due, client.now);
        }
        if plan.record {
            record.executed.push(*operation);
        }
        if !client.execute(operation, pace.open.then_some(due), record) {
            let now = record.failures;
            together.errors.fetch_add(now - failed, Ordering::Relaxed);
            failed = now;
        }
        if client.now.saturating_sub(told) >= TELL_EVERY_NS {
            told = client.now;
            tell(together, &mut before, record);
        }
    }
    tell(together, &mut before, record);
    record.part().begun = pace.begun;
    together.reached_wall(phase, record.last_end().unwrap_or_else(monotonic_ns));
}
