//! Runs a plan: prepare, empty caches, start together, closed loop, check, clean up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dfslab_workload::{encode, Stream};

use crate::client::Client;
use crate::content::Content;
use crate::plan::{Plan, Verify};
use crate::record::{nanoseconds, Record};
use crate::report::{
    CacheReport, ClientReport, Counted, CpuReport, ErrorCount, Report, SpanRecord,
};
use crate::target::{factory, Factory};
use crate::{Error, Result};

/// What others see and say while a run goes on.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    phase: AtomicU64,
}

const PHASES: [&str; 4] = ["preparing", "running", "verifying", "cleaning up"];

impl Control {
    /// No further operation starts; what was done is reported and cleaned up.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Operations done, and the phase in words.
    pub fn progress(&self) -> (u64, &'static str) {
        let phase = self.phase.load(Ordering::Relaxed) as usize;
        (self.done.load(Ordering::Relaxed), PHASES[phase])
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn enter(&self, phase: u64) {
        self.phase.store(phase, Ordering::Relaxed);
    }
}

/// A report with what is too large for it.
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// Spans, when asked for.
    pub spans: Vec<SpanRecord>,
    /// The executed operations of all clients in order of clients, encoded, when asked for.
    pub recorded: Vec<u8>,
}

/// Run a plan. Errors of operations are counted in the report; an error here means that the run
/// could not begin or could not be cleaned up.
pub fn run(plan: &Plan, control: &Control) -> Result<Outcome> {
    let began = Instant::now();
    let factory = factory(&plan.target, &plan.run_directory)?;
    factory.begin()?;
    let content = Content::new(plan.stream.seed, plan.stream.transfer_size_bytes as usize);
    let ran = run_clients(plan, control, factory.as_ref(), &content);
    let removed = if plan.keep { Ok(()) } else { factory.finish() };
    let (records, timing) = ran?;
    removed?;
    Ok(outcome(plan, records, &timing, began))
}

/// When the timed part was, and what the process spent in it.
struct Timing {
    zero: Instant,
    zero_unix_ns: u64,
    cpu: CpuReport,
    complete: bool,
}

/// The clients' common ground.
struct Together<'a> {
    plan: &'a Plan,
    control: &'a Control,
    prepared: Barrier,
    started: Barrier,
    finished: Barrier,
    errors: AtomicU64,
    /// Preparation failed somewhere: nobody starts.
    broken: AtomicBool,
    refused: Mutex<Option<Error>>,
    zero: std::sync::OnceLock<(Instant, u64)>,
}

fn run_clients(
    plan: &Plan,
    control: &Control,
    factory: &dyn Factory,
    content: &Content,
) -> Result<(Vec<Record>, Timing)> {
    let clients = plan.stream.clients;
    let parties = clients as usize + 1;
    let together = Together {
        plan,
        control,
        prepared: Barrier::new(parties),
        started: Barrier::new(parties),
        finished: Barrier::new(parties),
        errors: AtomicU64::new(0),
        broken: AtomicBool::new(false),
        refused: Mutex::new(None),
        zero: std::sync::OnceLock::new(),
    };
    let mut connections = Vec::new();
    for number in 0..clients {
        connections.push(Client::new(number, plan, content, factory.connect()?));
    }
    control.enter(0);
    std::thread::scope(|scope| {
        let together = &together;
        let threads: Vec<_> = connections
            .into_iter()
            .map(|client| scope.spawn(move || one_client(client, together)))
            .collect();
        let cpu = conduct(together);
        let mut records = Vec::new();
        let mut first = Ok(());
        for thread in threads {
            match thread.join().expect("a client thread does not panic") {
                Ok(record) => records.push(record),
                Err(error) if first.is_ok() => first = Err(error),
                Err(_) => {}
            }
        }
        first?;
        if let Some(error) = together.refused.lock().expect("no thread panics with it").take() {
            return Err(error);
        }
        let (zero, zero_unix_ns) = *together.zero.get().expect("set before the start");
        let errors = together.errors.load(Ordering::Relaxed);
        let complete = !control.stopped() && errors <= plan.max_errors && all_done(plan, &records);
        Ok((records, Timing { zero, zero_unix_ns, cpu, complete }))
    })
}

fn all_done(plan: &Plan, records: &[Record]) -> bool {
    let wanted = plan.stream.operations_per_client;
    let seen = |r: &Record| -> u64 {
        r.operations().map(|(_, counted)| counted.histogram.count() + counted.errors).sum()
    };
    records.iter().all(|record| seen(record) == wanted)
}

/// The conductor's part: caches emptied once all are prepared, a common zero, the CPU time.
fn conduct(together: &Together) -> CpuReport {
    together.prepared.wait();
    if together.plan.target.wants_cold() == Some("system") {
        if let Err(error) = drop_system_caches() {
            // Refused by the kernel: a run that says "cold" and is not is worse than none.
            together.broken.store(true, Ordering::Relaxed);
            *together.refused.lock().expect("no thread panics with it") = Some(error);
        }
    }
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    together.zero.set((Instant::now(), unix)).expect("set once");
    together.control.enter(1);
    let before = cpu_time();
    together.started.wait();
    together.finished.wait();
    let after = cpu_time();
    together.control.enter(if together.plan.verify == Verify::After { 2 } else { 3 });
    CpuReport { user: after.user - before.user, system: after.system - before.system }
}

fn one_client(mut client: Client, together: &Together) -> Result<Record> {
    let control = together.control;
    let mut prepared = client.prepare(&|| control.stopped());
    if prepared.is_ok() && together.plan.target.wants_cold() == Some("files") {
        prepared = client.drop_caches();
    }
    if prepared.is_err() {
        together.broken.store(true, Ordering::Relaxed);
    }
    together.prepared.wait();
    together.started.wait();
    let (zero, unix) = *together.zero.get().expect("set before the start");
    let limit = together.plan.spans.limit / together.plan.stream.clients as usize;
    let mut record = Record::new(client.number, zero, unix, limit);
    if !together.broken.load(Ordering::Relaxed) {
        timed_part(&mut client, &mut record, together);
    }
    together.finished.wait();
    let whole = prepared.is_ok() && !control.stopped();
    if whole && together.plan.verify == Verify::After {
        if let Err(error) = client.verify_all(&mut record) {
            together.errors.fetch_add(1, Ordering::Relaxed);
            record.note("verify", &error);
        }
    }
    let cleaned = if together.plan.keep { Ok(()) } else { client.clean_up() };
    prepared?;
    cleaned?;
    Ok(record)
}

/// The closed loop: the next operation starts when the last has ended and the pause is over.
fn timed_part(client: &mut Client, record: &mut Record, together: &Together) {
    let plan = together.plan;
    let deadline = plan
        .time_limit_s
        .map(|limit| together.zero.get().expect("set").0 + Duration::from_secs_f64(limit));
    let think = Duration::from_secs_f64(plan.stream.think_time_s);
    for operation in Stream::new(&plan.stream, client.number) {
        if together.control.stopped() || deadline.is_some_and(|at| Instant::now() >= at) {
            return;
        }
        if together.errors.load(Ordering::Relaxed) > plan.max_errors {
            return;
        }
        let before = record.error_count();
        client.execute(&operation, record);
        if plan.record {
            record.executed.push(operation);
        }
        together.errors.fetch_add(record.error_count() - before, Ordering::Relaxed);
        together.control.done.fetch_add(1, Ordering::Relaxed);
        if !think.is_zero() {
            std::thread::sleep(think);
        }
    }
}

fn outcome(plan: &Plan, records: Vec<Record>, timing: &Timing, began: Instant) -> Outcome {
    let mut operations: BTreeMap<&'static str, Counted> = BTreeMap::new();
    let mut steps: BTreeMap<String, Counted> = BTreeMap::new();
    let mut errors: BTreeMap<(String, &'static str), (u64, String)> = BTreeMap::new();
    for record in &records {
        for (name, counted) in record.operations() {
            operations.entry(name).or_default().merge(counted);
        }
        for (name, counted) in record.steps() {
            steps.entry(name).or_default().merge(counted);
        }
        for (key, (count, first)) in &record.errors {
            errors.entry(key.clone()).or_insert_with(|| (0, first.clone())).0 += count;
        }
    }
    let per_client: Vec<ClientReport> = records.iter().map(|r| per_client(r, timing.zero)).collect();
    let ends = per_client.iter().map(|client| client.last_end_s);
    let window_s = ends.clone().fold(0.0, f64::max);
    let stonewall_s = ends.fold(f64::INFINITY, f64::min);
    let before_wall = |r: &Record| {
        r.ends_ns.iter().filter(|end| **end as f64 * 1e-9 <= stonewall_s).count() as f64
    };
    let stonewall_count: f64 = records.iter().map(before_wall).sum();
    let count: u64 = per_client.iter().map(|client| client.count).sum();
    let bytes: u64 = per_client.iter().map(|client| client.bytes).sum();
    let over = |value: f64, seconds: f64| if seconds > 0.0 { value / seconds } else { 0.0 };
    let report = Report {
        complete: timing.complete,
        wall_s: began.elapsed().as_secs_f64(),
        start_unix_ns: timing.zero_unix_ns,
        clients: plan.stream.clients,
        window_s,
        stonewall_s,
        rate_per_s: over(count as f64, window_s),
        throughput_bytes_per_s: over(bytes as f64, window_s),
        stonewall_rate_per_s: over(stonewall_count, stonewall_s),
        operations: operations.iter().map(|(name, c)| (*name, c.operation())).collect(),
        steps: steps.iter().map(|(name, counted)| (name.clone(), counted.step())).collect(),
        per_client,
        errors: errors.into_iter().map(error_count).collect(),
        verified_bytes: records.iter().map(|record| record.verified_bytes).sum(),
        cache: CacheReport { dropped: plan.target.wants_cold().unwrap_or("none") },
        cpu_s: timing.cpu,
        spans_dropped: records.iter().map(|record| record.spans_dropped).sum(),
    };
    let recorded = records.iter().flat_map(|record| encode(&record.executed)).collect();
    let spans = records.into_iter().flat_map(|record| record.spans).collect();
    Outcome { report, spans, recorded }
}

fn error_count(((operation, kind), (count, first)): ((String, &'static str), (u64, String))) -> ErrorCount {
    ErrorCount { operation, kind, count, first }
}

fn per_client(record: &Record, zero: Instant) -> ClientReport {
    let since = |at: Option<Instant>| at.map_or(0.0, |at| nanoseconds(zero, at) as f64 * 1e-9);
    ClientReport {
        client: record.client,
        first_start_s: since(record.first_start),
        last_end_s: since(record.last_end),
        count: record.operations().map(|(_, counted)| counted.histogram.count()).sum(),
        bytes: record.operations().map(|(_, counted)| counted.bytes).sum(),
    }
}

fn drop_system_caches() -> Result<()> {
    let path = "/proc/sys/vm/drop_caches";
    // SAFETY: sync takes no arguments and cannot fail.
    unsafe { libc::sync() };
    std::fs::write(path, "3").map_err(|error| Error::io("drop_caches", path, &error))
}

fn cpu_time() -> CpuReport {
    // SAFETY: getrusage fills the structure it is given; zeroes are a valid one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    CpuReport { user: seconds(usage.ru_utime), system: seconds(usage.ru_stime) }
}
