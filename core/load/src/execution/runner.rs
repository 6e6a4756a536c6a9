//! Runs a plan: prepares files, empties caches, starts each phase at a barrier, checks content, and
//! removes files.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dfslab_workload::{prepared_files, Stream};

use crate::client::preparation;
use crate::client::Client;
use crate::clock::{cpu_time, monotonic_ns, ns_of};
use crate::execution::caches::{check_system_caches, drop_system_caches, prove_cold, MOST_FILES};
use crate::execution::control::{Control, Phase};
use crate::execution::ending::{end, given_back};
use crate::execution::own_cost::calibrate;
use crate::execution::pace::{sleep_until, timed_phase};
use crate::execution::setup::Setup;
use crate::execution::watch::Work;
use crate::plan::Plan;
use crate::record::Record;
use crate::report::outcome::{outcome, Outcome, PhaseTiming, RunFigures, Timing};
use crate::report::{CpuReport, Resident};
use crate::target::layer::Layers;
use crate::target::{factory, Factory};
use crate::{Error, ErrorKind, Result};

/// Runs a plan. Errors of operations, checks and removals are counted in the report; an `Err` means
/// that the run did not begin.
pub fn run(plan: &Plan, control: &Control) -> Result<Outcome> {
    let began = Instant::now();
    if plan.target.wants_cold() == Some("system") {
        check_system_caches()?;
    }
    let watch = control.watch();
    watch.runner.work(Work::Begin);
    let factory = factory(&plan.target, &plan.run_directory)?;
    let setup = Setup::new(plan);
    let generator = calibrate(&setup);
    // Figures that the control has from a previous run are kept: they are as good as these.
    let _ = watch.generator.set(generator.clone());
    let layers = Layers::new(&plan.layers, plan.stream.seed);
    preparation::check_room(plan, factory.as_ref())?;
    factory.begin(plan.shared)?;
    let ran = run_clients(&setup, control, factory.as_ref(), &layers);
    watch.runner.work(Work::Finish);
    let removed = match plan.keep {
        true => Ok(()),
        false => factory.finish(plan.shared),
    };
    watch.runner.idle();
    let (mut records, mut timing, refused) = ran?;
    if let (Err(error), Some(record)) = (removed, records.first_mut()) {
        timing.complete = false;
        record.note("clean_up", &error);
    }
    let figures = RunFigures {
        generator,
        layers: layers.counts(),
        wall_s: began.elapsed().as_secs_f64(),
    };
    let outcome = outcome(&setup, &records, &timing, figures);
    match refused {
        None => Ok(outcome),
        Some(error) => Err(with_what_is_left(error, &outcome)),
    }
}

/// Adds to `error`, which prevented the run, the names of prepared files that were not removed.
fn with_what_is_left(mut error: Error, outcome: &Outcome) -> Error {
    for left in &outcome.report.errors {
        error.context = format!("{}; {}: {}", error.context, left.operation, left.first);
    }
    error
}

/// State shared by all client threads of a run.
pub struct Together<'a> {
    pub setup: &'a Setup<'a>,
    pub control: &'a Control,
    layers: &'a Layers,
    /// Locked until all client threads are spawned; a client begins when it can lock the mutex. The
    /// value is false if a thread could not be spawned; then no client begins.
    go: Mutex<bool>,
    prepared: Barrier,
    started: Barrier,
    finished: Barrier,
    /// Barrier at the end of each phase, when all layers around the target are off. Checks and
    /// removal of files begin after the barrier of the last phase.
    settled: Barrier,
    pub errors: AtomicU64,
    /// True if the preparation failed for a client or the caches could not be emptied; then no
    /// client begins.
    broken: AtomicBool,
    /// True if a client was stopped before it completed a phase; then no later phase begins.
    pub cut: AtomicBool,
    refused: Mutex<Option<Error>>,
    zero_unix_ns: OnceLock<u64>,
    late_s: OnceLock<f64>,
    /// Files (path, size in bytes) that are checked before the next phase: they must not be in the
    /// page cache.
    uncached: Mutex<Vec<(String, u64)>>,
    phases: Vec<Times>,
    /// The instant after which the preparation of files is aborted; None without a time limit.
    deadline: Option<Instant>,
}

/// The measured times of a phase, each set as soon as it is known.
struct Times {
    zero: AtomicU64,
    /// The stonewall: the time at which the first client completed its operations, ns after `zero`.
    /// The largest integer until then.
    wall_ns: AtomicU64,
    /// What was in the page cache when the phase began; set in a cold run only.
    cold: OnceLock<Resident>,
}

impl<'a> Together<'a> {
    fn new(setup: &'a Setup<'a>, control: &'a Control, layers: &'a Layers) -> Self {
        let parties = setup.plan.client_count() as usize + 1;
        let times = || Times {
            zero: AtomicU64::new(0),
            wall_ns: AtomicU64::new(u64::MAX),
            cold: OnceLock::new(),
        };
        Together {
            setup,
            control,
            layers,
            go: Mutex::new(false),
            prepared: Barrier::new(parties),
            started: Barrier::new(parties),
            finished: Barrier::new(parties),
            settled: Barrier::new(parties),
            errors: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            refused: Mutex::new(None),
            zero_unix_ns: OnceLock::new(),
            late_s: OnceLock::new(),
            uncached: Mutex::new(Vec::new()),
            phases: setup.phases.iter().map(|_| times()).collect(),
            deadline: preparation::deadline(setup.plan),
        }
    }

    /// The common start of the phase with this number, ns of the monotonic clock.
    pub fn zero(&self, phase: usize) -> u64 {
        self.phases[phase].zero.load(Ordering::Acquire)
    }

    /// Records that a client completed its operations of a phase at `at_ns` of the monotonic clock.
    /// The earliest time of all clients is the stonewall.
    pub fn reached_wall(&self, phase: usize, at_ns: u64) {
        let after = at_ns.saturating_sub(self.zero(phase));
        self.phases[phase]
            .wall_ns
            .fetch_min(after, Ordering::Relaxed);
    }

    /// Copies a client's counts for the threads that watch the run, unless the last copy is recent.
    pub fn copy(&self, client: &mut Client, record: &mut Record) {
        let clients = self.setup.plan.client_count() as usize;
        let watch = self.control.watch();
        watch.copy(record, client.now, &mut client.copied_ns, clients);
    }

    /// Whether the preparation failed for a client, so that no client began.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Whether no further phase begins, after a failure or a stop. All threads call this function
    /// between the same two barriers, where the answer cannot change, so all of them decide alike.
    fn is_over(&self) -> bool {
        self.broken.load(Ordering::Acquire) || self.cut.load(Ordering::Acquire)
    }

    /// Whether the preparation of files has exceeded its time limit.
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|at| Instant::now() > at)
    }

    fn uncached(&self) -> MutexGuard<'_, Vec<(String, u64)>> {
        let files = self.uncached.lock();
        files.unwrap_or_else(PoisonError::into_inner)
    }

    /// In a cold run, drops a client's files from the page cache and registers some of them for the
    /// check by the main thread.
    fn empty_caches(&self, client: &mut Client) -> Result<()> {
        if self.setup.plan.target.wants_cold().is_some() {
            let share = MOST_FILES / self.setup.plan.client_count() as usize;
            let files = client.leave_cache(share.max(1))?;
            self.uncached().extend(files);
        }
        Ok(())
    }

    /// Prevents all clients from starting, and stores the error for the report.
    fn refuse(&self, error: Error) {
        self.broken.store(true, Ordering::Release);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get_or_insert(error);
    }

    fn timing(&self, cpu: CpuReport, records: &[Record]) -> Timing {
        let plan = self.setup.plan;
        let errors = self.errors.load(Ordering::Relaxed);
        let begun = self
            .phases
            .iter()
            .filter(|phase| phase.zero.load(Ordering::Relaxed) > 0);
        let timing = |phase: &Times| PhaseTiming {
            zero: phase.zero.load(Ordering::Relaxed),
            wall_ns: phase.wall_ns.load(Ordering::Relaxed),
            cold: phase.cold.get().copied(),
        };
        Timing {
            zero_unix_ns: self.zero_unix_ns.get().copied().unwrap_or(0),
            late_s: self.late_s.get().copied().unwrap_or(0.0),
            cpu,
            phases: begun.map(timing).collect(),
            complete: !self.control.stopped()
                && errors <= plan.max_errors
                && !self.is_over()
                && all_done(plan, records),
        }
    }
}

type Ran = (Vec<Record>, Timing, Option<Error>);

fn run_clients(
    setup: &Setup,
    control: &Control,
    factory: &dyn Factory,
    layers: &Layers,
) -> Result<Ran> {
    let plan = setup.plan;
    let together = Together::new(setup, control, layers);
    let mut connections = Vec::new();
    for number in plan.clients() {
        control.watch().runner.work(Work::Connect);
        let target = layers.around(factory.connect()?, number);
        connections.push(Client::new(number, setup, target));
    }
    control.watch().runner.idle();
    let slots = connections.iter();
    let slots = slots.map(|client| (client.number, Arc::clone(&client.slot)));
    control.watch().clients(slots.collect());
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
        cpu = conduct(&together, factory);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Option<Record>>| {
            thread.join().expect("panics are caught where work is done")
        };
        Ok(threads.into_iter().filter_map(join).collect::<Vec<_>>())
    })?;
    records.sort_by_key(|record| record.client);
    let timing = together.timing(cpu, &records);
    let refused = together.refused;
    let refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((records, timing, refused))
}

fn files_to_prepare(plan: &Plan) -> u64 {
    // Every client has the same number of files; only their sizes differ.
    prepared_files(&plan.stream, 0).len() as u64 * u64::from(plan.client_count())
}

fn all_done(plan: &Plan, records: &[Record]) -> bool {
    records
        .iter()
        .all(|record| record.count() + record.failures == plan.stream.operations_of(record.client))
}

/// The main thread's work during the timed part: it empties caches after the preparation, sets the
/// common start of every phase, and measures the processor time of all phases.
fn conduct(together: &Together, factory: &dyn Factory) -> CpuReport {
    let plan = together.setup.plan;
    let mut spent = CpuReport::default();
    let operations = plan
        .clients()
        .map(|client| plan.stream.operations_of(client))
        .sum();
    for phase in 0..together.phases.len() {
        together.prepared.wait();
        if plan.target.wants_cold().is_some() && !together.is_over() {
            together.control.watch().runner.work(Work::DropCaches);
            let made = make_cold(together, factory);
            together.control.watch().runner.idle();
            match made {
                Ok(Some(proof)) => together.phases[phase].cold.set(proof).expect("set once"),
                Ok(None) => (),
                // A cold run whose caches are not empty would report wrong figures, so it does not
                // start.
                Err(error) => together.refuse(error),
            }
        }
        if phase == 0 {
            together.control.enter(Phase::Running, operations);
        }
        let zero = match together.is_over() {
            true => monotonic_ns(),
            false => await_start(together, phase),
        };
        together.phases[phase].zero.store(zero, Ordering::Release);
        if !together.is_over() {
            let unix = together.zero_unix_ns.get().copied().unwrap_or(0);
            let late_s = together.late_s.get().copied().unwrap_or(0.0);
            together.control.watch().phase_begins(zero, unix, late_s);
        }
        together.layers.begin(zero);
        let before = cpu_time();
        together.started.wait();
        together.finished.wait();
        let after = cpu_time();
        together.layers.end();
        let last = together.is_over() || phase + 1 == together.phases.len();
        let begun = !together.broken.load(Ordering::Acquire);
        // Other shards may still read the files of this shard's clients.
        let read_on = plan.shared && plan.stream.takes_others();
        if begun && (plan.hold || last && read_on) {
            together.control.pass_gate(true);
        }
        together.settled.wait();
        spent.user += after.user - before.user;
        spent.system += after.system - before.system;
        if together.is_over() {
            break;
        }
    }
    together.control.enter(Phase::Verifying, 0);
    spent
}

/// Empties this machine's caches of the clients' files. Returns what stayed in the page cache, or
/// None where the target cannot report it. Returns an error if more than 1 % stayed.
fn make_cold(together: &Together, factory: &dyn Factory) -> Result<Option<Resident>> {
    let setup = together.setup;
    if setup.plan.target.wants_cold() == Some("system") {
        drop_system_caches()?;
    }
    if !setup.plan.target.capabilities().drop_file_cache {
        return Ok(None);
    }
    let files = std::mem::take(&mut *together.uncached());
    // The check uses a separate connection in a separate thread, so that everything it opens is
    // closed when the thread ends.
    let mut target = factory.connect()?;
    let proof = std::thread::scope(|scope| {
        let work = move || guarded("prove_cold", || prove_cold(&files, target.as_mut()));
        let thread = scope.spawn(work);
        thread.join().expect("panics are caught where work is done")
    })?;
    if setup.plan.target.wants_cold() == Some("system") {
        // The check itself has cached names and attributes, so the system's caches are dropped
        // again.
        drop_system_caches()?;
    }
    Ok(proof)
}

/// Waits for the start of a phase on which all clients agreed, and returns this time in ns of the
/// monotonic clock, even if this thread wakes up later.
fn await_start(together: &Together, phase: usize) -> u64 {
    let instant = together.control.pass_gate(phase > 0);
    let zero = ns_of(instant);
    let stopped = || together.control.stopped();
    sleep_until(zero, &stopped);
    if phase == 0 {
        let late = monotonic_ns().saturating_sub(zero);
        together.late_s.set(late as f64 * 1e-9).expect("set once");
        together
            .zero_unix_ns
            .set(unix_ns(instant))
            .expect("set once");
    }
    zero
}

/// Converts an instant to Unix time, ns. Both clocks are read at nearly the same time: of several
/// pairs of readings, the closest is used.
fn unix_ns(instant: Instant) -> u64 {
    let pair = || {
        let (before, unix) = (Instant::now(), SystemTime::now());
        (before.elapsed(), before, unix)
    };
    let closest = (0..5).map(|_| pair()).min_by_key(|(apart, ..)| *apart);
    let (_, now, unix) = closest.expect("there are tries");
    let past = unix - now.saturating_duration_since(instant);
    let then = past + instant.saturating_duration_since(now);
    then.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}

/// Calls `work` and turns a panic into an error, so that a client library that panics does not make
/// the other clients wait at a barrier for ever. `doing` names the work in the error.
pub fn guarded<T>(doing: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
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

/// Executes the whole run of one client: preparation, phases, checks and removal. Returns None when
/// not all client threads could be spawned.
fn one_client(mut client: Client, together: &Together) -> Option<Record> {
    if !*together.go.lock().unwrap_or_else(PoisonError::into_inner) {
        return None;
    }
    let (plan, control) = (together.setup.plan, together.control);
    let stop = || control.stopped() || together.is_late();
    let prepared = guarded("prepare", || {
        client.read_clock();
        client.slot.work(Work::Prepare);
        client.target.settle()?;
        client.prepare(&stop, &|| control.count(1))?;
        if together.is_late() {
            return Err(preparation::too_slow(plan));
        }
        together.empty_caches(&mut client)?;
        client.open_held()
    });
    client.slot.idle();
    if let Err(error) = prepared {
        together.refuse(error);
    }
    let record = run_phases(&mut client, together);
    Some(end(&mut client, record, together))
}

/// Runs all phases of one client, each of which starts at a barrier, and returns the client's
/// record.
fn run_phases(client: &mut Client, together: &Together) -> Record {
    let plan = together.setup.plan;
    let limit = plan.spans.limit / plan.stream.clients as usize;
    let mut record: Option<Record> = None;
    let mut stream = Stream::new(&plan.stream, client.number);
    for phase in 0..together.phases.len() {
        together.prepared.wait();
        together.started.wait();
        let zero = together.zero(phase);
        let unix = together.zero_unix_ns.get().copied().unwrap_or(0);
        let mut one = record.unwrap_or_else(|| Record::new(client.number, zero, unix, limit));
        if !together.is_over() {
            one.begin_part(zero);
            stream.next_phase();
            client.renamed_by_others = stream.renamed_by_others();
            if client.target.opens_by_name() {
                client.held_of_others.clear();
            }
            let ran = guarded("run", || {
                timed_phase(client, &mut stream, phase, &mut one, together);
                Ok(())
            });
            if let Err(error) = ran {
                together.errors.fetch_add(1, Ordering::Relaxed);
                one.note("run", &error);
            }
        }
        client.slot.idle();
        together.control.watch().lend(one);
        together.finished.wait();
        let mut one = given_back(client, together);
        let again = phase + 1 < together.phases.len() && !together.is_over();
        if again {
            let emptied = guarded("empty_caches", || together.empty_caches(client));
            emptied.unwrap_or_else(|error| together.refuse(error));
            client.slot.idle();
            together.control.watch().copy_now(&mut one);
        }
        record = Some(one);
        together.settled.wait();
        if together.is_over() {
            break;
        }
    }
    record.expect("there is at least one phase")
}
