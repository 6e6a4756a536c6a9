//! Runs a plan: prepare, empty caches, start together, closed loop, check, clean up.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dfslab_workload::{prepared_files, Stream};

use crate::client::Client;
use crate::content::Content;
use crate::control::{Control, Phase};
use crate::outcome::{outcome, Outcome, Timing};
use crate::plan::{Plan, Verify};
use crate::record::{nanoseconds, Record};
use crate::report::CpuReport;
use crate::target::{factory, Factory};
use crate::{Error, ErrorKind, Result};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// A counter that all clients write to with every operation would slow them down.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
const TELL_EVERY: Duration = Duration::from_millis(10);

/// Run a plan. Errors of operations, of checks and of cleaning up are counted in the report; an
/// error here means that the run could not begin.
pub fn run(plan: &Plan, control: &Control) -> Result<Outcome> {
    let began = Instant::now();
    if plan.target.wants_cold() == Some("system") {
        check_system_caches()?;
    }
    let factory = factory(&plan.target, &plan.run_directory)?;
    factory.begin(plan.shared)?;
    let content = Content::new(plan.stream.seed, plan.stream.transfer_size_bytes as usize);
    let ran = run_clients(plan, control, factory.as_ref(), &content);
    let removed = match plan.keep {
        true => Ok(()),
        false => factory.finish(plan.shared),
    };
    let (mut records, mut timing, refused) = ran?;
    if let (Err(error), Some(record)) = (removed, records.first_mut()) {
        timing.complete = false;
        record.note("clean_up", &error);
    }
    let outcome = outcome(plan, &records, &timing, began);
    match refused {
        None => Ok(outcome),
        Some(error) => Err(with_what_is_left(error, &outcome)),
    }
}

/// Why a run did not start, and what of its preparation could not be removed.
fn with_what_is_left(mut error: Error, outcome: &Outcome) -> Error {
    for left in &outcome.report.errors {
        error.context = format!("{}; {}: {}", error.context, left.operation, left.first);
    }
    error
}

/// The clients' common ground.
struct Together<'a> {
    plan: &'a Plan,
    control: &'a Control,
    /// Held until every thread is there; false when one could not be had and nothing may begin.
    go: Mutex<bool>,
    prepared: Barrier,
    started: Barrier,
    finished: Barrier,
    errors: AtomicU64,
    /// Preparation failed somewhere: nobody starts.
    broken: AtomicBool,
    refused: Mutex<Option<Error>>,
    zero: OnceLock<(Instant, u64)>,
    late_s: OnceLock<f64>,
    /// When the first client had done all its operations, ns after zero.
    wall_ns: AtomicU64,
}

impl<'a> Together<'a> {
    fn new(plan: &'a Plan, control: &'a Control) -> Self {
        let parties = plan.client_count() as usize + 1;
        Together {
            plan,
            control,
            go: Mutex::new(false),
            prepared: Barrier::new(parties),
            started: Barrier::new(parties),
            finished: Barrier::new(parties),
            errors: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            refused: Mutex::new(None),
            zero: OnceLock::new(),
            late_s: OnceLock::new(),
            wall_ns: AtomicU64::new(u64::MAX),
        }
    }

    fn zero(&self) -> (Instant, u64) {
        *self.zero.get().expect("set before the common start")
    }

    /// Nobody starts, and this is why.
    fn refuse(&self, error: Error) {
        self.broken.store(true, Ordering::Relaxed);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get_or_insert(error);
    }
}

fn run_clients(
    plan: &Plan,
    control: &Control,
    factory: &dyn Factory,
    content: &Content,
) -> Result<(Vec<Record>, Timing, Option<Error>)> {
    let together = Together::new(plan, control);
    let mut connections = Vec::new();
    for number in plan.clients() {
        connections.push(Client::new(number, plan, content, factory.connect()?));
    }
    control.enter(Phase::Preparing, files_to_prepare(plan));
    let mut cpu = CpuReport::default();
    let mut records = std::thread::scope(|scope| {
        let mut go = together.go.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads = Vec::new();
        for client in connections {
            let work = || one_client(client, &together);
            let thread = std::thread::Builder::new().spawn_scoped(scope, work);
            threads.push(thread.map_err(|error| Error::io("start a thread", "client", &error))?);
        }
        *go = true;
        drop(go);
        cpu = conduct(&together);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Option<Record>>| {
            thread.join().expect("panics are caught where work is done")
        };
        Ok(threads.into_iter().filter_map(join).collect::<Vec<_>>())
    })?;
    records.sort_by_key(|record| record.client);
    let (zero, zero_unix_ns) = together.zero();
    let errors = together.errors.load(Ordering::Relaxed);
    let timing = Timing {
        zero,
        zero_unix_ns,
        late_s: together.late_s.get().copied().unwrap_or(0.0),
        cpu,
        wall_ns: together.wall_ns.load(Ordering::Relaxed),
        complete: !control.stopped() && errors <= plan.max_errors && all_done(plan, &records),
    };
    let refused = together
        .refused
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok((records, timing, refused))
}

fn files_to_prepare(plan: &Plan) -> u64 {
    // Every client has the same number; only their sizes differ.
    prepared_files(&plan.stream, 0).len() as u64 * u64::from(plan.client_count())
}

fn all_done(plan: &Plan, records: &[Record]) -> bool {
    let wanted = plan.stream.operations_per_client;
    let failed = |record: &Record| -> u64 { record.operations().map(|(_, c)| c.errors).sum() };
    records
        .iter()
        .all(|record| record.count + failed(record) == wanted)
}

/// The conductor's part: caches emptied once all are prepared, a common zero, the CPU time.
fn conduct(together: &Together) -> CpuReport {
    let plan = together.plan;
    together.prepared.wait();
    if plan.target.wants_cold() == Some("system") {
        if let Err(error) = drop_system_caches() {
            // Refused by the kernel: a run that says "cold" and is not is worse than none.
            together.refuse(error);
        }
    }
    let operations = plan.stream.operations_per_client * u64::from(plan.client_count());
    together.control.enter(Phase::Running, operations);
    let zero = match together.broken.load(Ordering::Relaxed) {
        true => Instant::now(),
        false => await_start(together),
    };
    together.zero.set((zero, unix_ns(zero))).expect("set once");
    let before = cpu_time();
    together.started.wait();
    together.finished.wait();
    let after = cpu_time();
    together.control.enter(Phase::Verifying, 0);
    CpuReport {
        user: after.user - before.user,
        system: after.system - before.system,
    }
}

/// Wait for the agreed start, which is where everything is timed from, however late it is noticed.
fn await_start(together: &Together) -> Instant {
    let zero = together.control.pass_gate();
    while Instant::now() < zero && !together.control.stopped() {
        let left = zero.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(LONGEST_SLEEP));
    }
    let late = Instant::now().saturating_duration_since(zero);
    together.late_s.set(late.as_secs_f64()).expect("set once");
    zero
}

/// The Unix time of an instant.
fn unix_ns(instant: Instant) -> u64 {
    let (now, unix) = (Instant::now(), SystemTime::now());
    let past = unix - now.saturating_duration_since(instant);
    let then = past + instant.saturating_duration_since(now);
    then.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}

/// A broken client library must not leave the other clients waiting for this one for ever.
fn guarded<T>(doing: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::new(
            ErrorKind::Crash,
            doing,
            "client",
            text.unwrap_or("panic"),
        ))
    })
}

/// All that one client does; nothing when its fellows could not be started.
fn one_client(mut client: Client, together: &Together) -> Option<Record> {
    if !*together.go.lock().unwrap_or_else(PoisonError::into_inner) {
        return None;
    }
    let (plan, control) = (together.plan, together.control);
    let stop = || control.stopped();
    let prepared = guarded("prepare", || {
        client.prepare(&stop, &|| control.count(1))?;
        if plan.target.wants_cold() == Some("files") {
            client.drop_caches()?;
        }
        Ok(())
    });
    if let Err(error) = prepared {
        together.refuse(error);
    }
    together.prepared.wait();
    together.started.wait();
    let (zero, unix) = together.zero();
    let limit = plan.spans.limit / plan.stream.clients as usize;
    let mut record = Record::new(client.number, zero, unix, limit);
    let count = |during: &str, outcome: Result<()>, record: &mut Record| {
        if let Err(error) = outcome {
            together.errors.fetch_add(1, Ordering::Relaxed);
            record.note(during, &error);
        }
    };
    if !together.broken.load(Ordering::Relaxed) {
        let ran = guarded("run", || timed_part(&mut client, &mut record, together));
        count("run", ran, &mut record);
    }
    together.finished.wait();
    let whole = !together.broken.load(Ordering::Relaxed) && !control.stopped();
    if whole && plan.verify == Verify::After {
        let verified = guarded("verify", || client.verify_all(&stop, &mut record));
        count("verify", verified, &mut record);
    }
    control.enter(Phase::CleaningUp, 0);
    if !plan.keep {
        count(
            "clean_up",
            guarded("clean_up", || client.clean_up()),
            &mut record,
        );
    }
    Some(record)
}

/// The closed loop: the next operation starts when the last has ended and the pause is over.
fn timed_part(client: &mut Client, record: &mut Record, together: &Together) -> Result<()> {
    let plan = together.plan;
    let zero = together.zero().0;
    let deadline = plan
        .time_limit_s
        .map(|limit| zero + Duration::from_secs_f64(limit));
    let think = Duration::from_secs_f64(plan.stream.think_time_s);
    let over = |now: Instant| {
        together.control.stopped()
            || together.errors.load(Ordering::Relaxed) > plan.max_errors
            || deadline.is_some_and(|at| now >= at)
    };
    let (mut failed, mut told, mut untold) = (record.error_count(), zero, 0);
    for operation in Stream::new(&plan.stream, client.number) {
        if over(client.now()) {
            break;
        }
        if plan.record {
            record.executed.push(operation);
        }
        if !client.execute(&operation, record) {
            let now = record.error_count();
            together.errors.fetch_add(now - failed, Ordering::Relaxed);
            failed = now;
        }
        untold += 1;
        if client.now().saturating_duration_since(told) >= TELL_EVERY {
            together.control.count(untold);
            (told, untold) = (client.now(), 0);
        }
        if !think.is_zero() {
            client.pause(think, &over);
        }
    }
    together.control.count(untold);
    let last_end = record.last_end.unwrap_or_else(Instant::now);
    together
        .wall_ns
        .fetch_min(nanoseconds(zero, last_end), Ordering::Relaxed);
    Ok(())
}

fn check_system_caches() -> Result<()> {
    std::fs::OpenOptions::new()
        .write(true)
        .open(DROP_CACHES)
        .map_or_else(
            |error| {
                let reason =
                    format!("\"system\" needs {DROP_CACHES} to be writable (root): {error}");
                Err(Error::input("target.drop_caches", reason))
            },
            |_| Ok(()),
        )
}

fn drop_system_caches() -> Result<()> {
    // SAFETY: sync takes no arguments and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(DROP_CACHES, "3").map_err(|error| Error::io("drop_caches", DROP_CACHES, &error))
}

fn cpu_time() -> CpuReport {
    // SAFETY: getrusage fills the structure it is given; zeroes are a valid one.
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
