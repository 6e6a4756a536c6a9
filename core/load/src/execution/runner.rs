//! Runs a plan: prepares files, empties caches, starts each phase at a barrier, checks content, and
//! removes files.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dfslab_workload::{prepared_files, Stream};

use crate::client::preparation;
use crate::client::Client;
use crate::clock::{cpu_time, monotonic_ns, ns_of};
use crate::execution::caches::{check_system_caches, drop_system_caches, prove_cold};
use crate::execution::control::{Control, Phase};
use crate::execution::ending::{end, given_back};
use crate::execution::guard::guarded;
use crate::execution::own_cost::calibrate;
use crate::execution::pace::{sleep_until, timed_phase};
use crate::execution::setup::Setup;
use crate::execution::shared_state::SharedState;
use crate::execution::watch::Work;
use crate::plan::Plan;
use crate::record::Record;
use crate::report::outcome::{outcome, Outcome, RunFigures, Timing};
use crate::report::{CpuReport, Resident};
use crate::target::layer::Layers;
use crate::target::{factory, Factory};
use crate::{Error, ErrorKind, Result};

/// The size of a client's stack. The default of 2 MiB would take 8 GiB of addresses for 4,096
/// clients. Java, which some targets call in the client's thread, uses 1 MiB as well.
const STACK_BYTES: usize = 1 << 20;

/// Runs a plan. Errors of operations, checks and removals are counted in the report. An `Err` means
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
    // `set` does nothing if the control already has the generator's cost, measured in a previous
    // run. That measurement is as accurate as the new one.
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

type Ran = (Vec<Record>, Timing, Option<Error>);

fn run_clients(
    setup: &Setup,
    control: &Control,
    factory: &dyn Factory,
    layers: &Layers,
) -> Result<Ran> {
    let plan = setup.plan;
    let shared = SharedState::new(setup, control, layers);
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
        let mut go = shared.go.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads = Vec::new();
        for client in connections {
            let work = || one_client(client, &shared);
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            let thread = builder.spawn_scoped(scope, work);
            threads.push(thread.map_err(|error| no_thread(threads.len(), plan, &error))?);
        }
        *go = true;
        drop(go);
        cpu = conduct(&shared, factory);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Option<Record>>| {
            thread.join().expect("panics are caught where work is done")
        };
        Ok(threads.into_iter().filter_map(join).collect::<Vec<_>>())
    })?;
    records.sort_by_key(|record| record.client);
    let timing = shared.timing(cpu, &records);
    let refused = shared.refused;
    let refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((records, timing, refused))
}

/// The error of a client whose thread the operating system does not start.
fn no_thread(started: usize, plan: &Plan, error: &std::io::Error) -> Error {
    let which = format!("client {} of {}", started + 1, plan.client_count());
    let context = format!(
        "{error}; raise the limit of threads (ulimit -u, pids.max of the control group) or of \
         memory (ulimit -v), or run fewer clients"
    );
    Error::new(ErrorKind::Other, "start a thread for", &which, context)
}

fn files_to_prepare(plan: &Plan) -> u64 {
    // Every client has the same number of files; only their sizes differ.
    prepared_files(&plan.stream, 0).len() as u64 * u64::from(plan.client_count())
}

/// Does the work of the main thread from the end of the preparation to the end of the timed part.
/// It empties caches, sets the common start of every phase, and measures the processor time of all
/// phases.
fn conduct(shared: &SharedState, factory: &dyn Factory) -> CpuReport {
    let plan = shared.setup.plan;
    let mut spent = CpuReport::default();
    let operations = plan
        .clients()
        .map(|client| plan.stream.operations_of(client))
        .sum();
    for phase in 0..shared.phases.len() {
        shared.prepared.wait();
        if plan.target.wants_cold().is_some() && !shared.is_over() {
            shared.control.watch().runner.work(Work::DropCaches);
            let made = make_cold(shared, factory);
            shared.control.watch().runner.idle();
            match made {
                Ok(Some(proof)) => shared.phases[phase].cold.set(proof).expect("set once"),
                Ok(None) => (),
                // A cold run whose caches are not empty would report wrong figures, so it does not
                // start.
                Err(error) => shared.refuse(error),
            }
        }
        if phase == 0 {
            shared.control.enter(Phase::Running, operations);
        }
        let zero = match shared.is_over() {
            true => monotonic_ns(),
            false => await_start(shared, phase),
        };
        shared.phases[phase].start_ns.store(zero, Ordering::Release);
        if !shared.is_over() {
            let unix = shared.zero_unix_ns.get().copied().unwrap_or(0);
            let late_s = shared.late_s.get().copied().unwrap_or(0.0);
            shared.control.watch().phase_begins(zero, unix, late_s);
        }
        shared.layers.begin(zero);
        let before = cpu_time();
        shared.started.wait();
        shared.finished.wait();
        let after = cpu_time();
        shared.layers.end();
        let last = shared.is_over() || phase + 1 == shared.phases.len();
        let begun = !shared.is_broken.load(Ordering::Acquire);
        // True if the files of this shard's clients must not be removed yet, because other shards
        // may still read them.
        let read_on = plan.shared && plan.stream.takes_others();
        if begun && (plan.barrier_after_phases || last && read_on) {
            shared.control.pass_barrier(true);
        }
        shared.settled.wait();
        spent.user += after.user - before.user;
        spent.system += after.system - before.system;
        if shared.is_over() {
            break;
        }
    }
    shared.control.enter(Phase::Verifying, 0);
    spent
}

/// Removes the clients' files from the caches of this machine. Returns how many bytes of the
/// checked files are still in the page cache, or None where the target cannot report it. Returns an
/// error if more than 1 % of these bytes are still cached.
fn make_cold(shared: &SharedState, factory: &dyn Factory) -> Result<Option<Resident>> {
    let setup = shared.setup;
    if setup.plan.target.wants_cold() == Some("system") {
        drop_system_caches()?;
    }
    if !setup.plan.target.capabilities().drop_file_cache {
        return Ok(None);
    }
    let files = std::mem::take(&mut *shared.uncached());
    // The check opens a separate connection in a separate thread. Everything that it opens is
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

/// Waits for the common start of a phase. Returns the agreed start in ns of the monotonic clock,
/// even if this thread wakes up later.
fn await_start(shared: &SharedState, phase: usize) -> u64 {
    let instant = shared.control.pass_barrier(phase > 0);
    let zero = ns_of(instant);
    let stopped = || shared.control.stopped();
    sleep_until(zero, &stopped);
    if phase == 0 {
        let late = monotonic_ns().saturating_sub(zero);
        shared.late_s.set(late as f64 * 1e-9).expect("set once");
        shared.zero_unix_ns.set(unix_ns(instant)).expect("set once");
    }
    zero
}

/// Converts an instant to Unix time, ns. Reads both clocks in pairs several times, and uses the
/// pair with the shortest time between its two readings.
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

/// Executes the whole run of one client: preparation, phases, checks and removal. Returns None when
/// not all client threads could be spawned.
fn one_client(mut client: Client, shared: &SharedState) -> Option<Record> {
    if !*shared.go.lock().unwrap_or_else(PoisonError::into_inner) {
        return None;
    }
    let (plan, control) = (shared.setup.plan, shared.control);
    let stop = || control.stopped() || shared.is_late();
    let prepared = guarded("prepare", || {
        client.read_clock();
        client.slot.work(Work::Prepare);
        client.target.settle()?;
        client.prepare(&stop, &|| control.count(1))?;
        if shared.is_late() {
            return Err(preparation::too_slow(plan));
        }
        shared.empty_caches(&mut client)?;
        client.open_kept_files()
    });
    client.slot.idle();
    if let Err(error) = prepared {
        shared.refuse(error);
    }
    let record = run_phases(&mut client, shared);
    Some(end(&mut client, record, shared))
}

/// Runs all phases of one client and returns the client's record. Each phase starts at a barrier.
fn run_phases(client: &mut Client, shared: &SharedState) -> Record {
    let plan = shared.setup.plan;
    let limit = plan.spans.limit / plan.stream.clients as usize;
    let mut record: Option<Record> = None;
    let mut stream = Stream::new(&plan.stream, client.number);
    for phase in 0..shared.phases.len() {
        shared.prepared.wait();
        shared.started.wait();
        let zero = shared.start_ns(phase);
        let unix = shared.zero_unix_ns.get().copied().unwrap_or(0);
        let mut one = record.unwrap_or_else(|| Record::new(client.number, zero, unix, limit));
        if !shared.is_over() {
            one.begin_part(zero);
            stream.next_phase();
            client.renamed_by_others = stream.renamed_by_others();
            if client.target.opens_by_name() {
                client.open_files_of_others.clear();
            }
            let ran = guarded("run", || {
                timed_phase(client, &mut stream, phase, &mut one, shared);
                Ok(())
            });
            if let Err(error) = ran {
                shared.errors.fetch_add(1, Ordering::Relaxed);
                one.note("run", &error);
            }
        }
        client.slot.idle();
        shared.control.watch().lend(one);
        shared.finished.wait();
        let mut one = given_back(client, shared);
        let again = phase + 1 < shared.phases.len() && !shared.is_over();
        if again {
            let emptied = guarded("empty_caches", || shared.empty_caches(client));
            emptied.unwrap_or_else(|error| shared.refuse(error));
            client.slot.idle();
            shared.control.watch().copy_now(&mut one);
        }
        record = Some(one);
        shared.settled.wait();
        if shared.is_over() {
            break;
        }
    }
    record.expect("there is at least one phase")
}
