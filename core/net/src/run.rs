//! Runs the replications of a net on threads and returns their results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Mutex;

use serde_json::Value as Json;

use crate::answer;
use crate::clock::{nanoseconds, seconds};
use crate::cluster_run::{self, Limits, Pause};
use crate::compiled::CompiledNet;
use crate::ending::{Reason, STOP_INTERVAL};
use crate::engine::law::stations;
use crate::engine::law_sums::Station;
use crate::engine::Engine;
use crate::error::{NetError, Result};
use crate::monitor::{plan, Plan, Window};
use crate::options::RunOptions;
use crate::report::{MonitorReport, ReplicationReport, RunReport};

/// Number of firings observed after a livelock is detected, to find its most frequent transitions.
const LIVELOCK_SAMPLE: u64 = 100_000;

/// Largest number of places that a result names when no transition can fire any more.
const LEFT_MAX: usize = 10;

/// Runs all replications and returns their results as JSON, in order. A caller that sets `stop`
/// ends the run early.
pub fn run(net: &CompiledNet, options: &RunOptions, stop: &AtomicBool) -> Result<Json> {
    options.check()?;
    let plans = plan(net, &options.monitors)?;
    let stations = stations(net, options)?;
    let next = AtomicU32::new(0);
    let done: Mutex<BTreeMap<u32, Result<ReplicationReport>>> = Mutex::new(BTreeMap::new());
    let work = || loop {
        let replication = next.fetch_add(1, Ordering::Relaxed);
        if replication >= options.replications {
            return;
        }
        let watched = (&plans[..], &stations[..]);
        let number = options.first_replication + replication;
        let result = replicate(net, watched, options, number, stop);
        let failed = result.is_err();
        done.lock()
            .expect("no replication panics with the lock")
            .insert(replication, result);
        if failed {
            // After an error, no further replication is started. The run returns the error of the
            // failed replication with the lowest number. Replications with lower numbers are
            // already running and can still replace the error. Those with higher numbers cannot, so
            // they need not run.
            next.store(options.replications, Ordering::Relaxed);
        }
    };
    let threads = options.threads.min(options.replications);
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    let done = done
        .into_inner()
        .expect("no replication panics with the lock");
    let replications: Result<Vec<ReplicationReport>> = done.into_values().collect();
    Ok(answer::json(RunReport {
        net: net.name().to_owned(),
        seed: options.seed,
        replications: replications?,
    }))
}

fn replicate(
    net: &CompiledNet,
    (plans, stations): (&[Plan], &[Station]),
    options: &RunOptions,
    replication: u32,
    stop: &AtomicBool,
) -> Result<ReplicationReport> {
    let in_replication = |error: NetError| NetError {
        context: format!("replication {replication}, {}", error.context),
        ..error
    };
    let mut run = Replication::new(net, plans, options, replication).map_err(in_replication)?;
    run.engine.watch_stations(stations);
    let reason = run.finish(stop).map_err(in_replication)?;
    let stations = run.engine.check_laws().map_err(in_replication)?;
    Ok(ReplicationReport {
        stations: options.laws.then_some(stations),
        ..run.report(replication, reason)
    })
}

struct Replication<'n> {
    net: &'n CompiledNet,
    plans: &'n [Plan],
    options: &'n RunOptions,
    engine: Engine<'n>,
    warm_up_ns: u64,
    end_ns: u64,
}

/// Starts the observation of the monitors at the present time.
fn begin(engine: &mut Engine<'_>) {
    let now_ns = engine.marking.now_ns;
    engine.monitors.iter_mut().for_each(|one| one.begin(now_ns));
}

impl<'n> Replication<'n> {
    fn new(
        net: &'n CompiledNet,
        plans: &'n [Plan],
        options: &'n RunOptions,
        replication: u32,
    ) -> Result<Self> {
        let mut engine = Engine::observed(net, plans, options.seed, u64::from(replication))?;
        let in_range = "the options were checked";
        let warm_up_ns = nanoseconds(options.warm_up_s).expect(in_range);
        let end_ns = options
            .end_time_s
            .map(|end| nanoseconds(end).expect(in_range));
        engine.observes = warm_up_ns == 0;
        if engine.observes {
            begin(&mut engine);
        }
        Ok(Self {
            net,
            plans,
            options,
            engine,
            warm_up_ns,
            end_ns: end_ns.unwrap_or(u64::MAX),
        })
    }

    /// Fires transitions until there is a reason to end, and returns the reason. Afterwards, the
    /// simulated time is the end time if the replication reached it. Otherwise it is the time at
    /// which the last transition fired or the last token arrived.
    fn finish(&mut self, stop: &AtomicBool) -> Result<Reason> {
        let until = self.options.until.map(|until| (until.monitor, until.count));
        let most_tokens = usize::try_from(self.options.max_tokens).unwrap_or(usize::MAX);
        let mut instant_firings = 0;
        loop {
            match self.fire_clusters(stop)? {
                Pause::Idle => {}
                Pause::Ended(reason) => return Ok(reason),
                Pause::Livelock => return Err(self.livelock()),
                Pause::Growth => return Err(self.growth()),
            }
            while self.engine.fire_now()?.is_some() {
                let firings = self.engine.firings;
                instant_firings += 1;
                if instant_firings > self.options.max_instant_firings {
                    return Err(self.livelock());
                }
                if self.engine.marking.live > most_tokens {
                    return Err(self.growth());
                }
                if until.is_some_and(|(at, count)| self.engine.monitors[at].count >= count) {
                    return Ok(Reason::Until);
                }
                if firings >= self.options.max_firings {
                    return Ok(Reason::MaxFirings);
                }
                if firings.is_multiple_of(STOP_INTERVAL) && stop.load(Ordering::Relaxed) {
                    return Ok(Reason::Stopped);
                }
            }
            instant_firings = 0;
            let Some(time_ns) = self.engine.next_time_ns() else {
                self.warm_up_before(u64::MAX);
                return Ok(Reason::Dead);
            };
            self.warm_up_before(time_ns.min(self.end_ns));
            if time_ns > self.end_ns {
                self.engine.marking.now_ns = self.end_ns;
                return Ok(Reason::EndTime);
            }
            self.engine.advance()?;
        }
    }

    /// Fires transitions with `cluster_run`, an engine that needs fewer steps for each firing. It
    /// stops at the end of the warm-up, at the end of the replication, or when nothing can fire.
    /// Returns why it stopped. If the net has no plan for this engine (`cluster_plan`), fires
    /// nothing and returns `Pause::Idle`.
    fn fire_clusters(&mut self, stop: &AtomicBool) -> Result<Pause> {
        let Some(plan) = &self.net.cluster_plan else {
            return Ok(Pause::Idle);
        };
        let pause_ns = match self.engine.observes {
            true => self.end_ns,
            false => self.end_ns.min(self.warm_up_ns - 1),
        };
        let limits = Limits {
            pause_ns,
            max_firings: self.options.max_firings,
            max_instant_firings: self.options.max_instant_firings,
            max_tokens: usize::try_from(self.options.max_tokens).unwrap_or(usize::MAX),
            until: self.options.until.map(|until| (until.monitor, until.count)),
            is_final: true,
        };
        cluster_run::run(&mut self.engine, plan, limits, stop)
    }

    /// Ends the warm-up if it ends before the next event; from then on, monitors observe. `time_ns`
    /// is the time of the next event, or the largest number if there is no further event. In the
    /// latter case, the warm-up does not end and monitors observe nothing.
    fn warm_up_before(&mut self, time_ns: u64) {
        if self.engine.observes || time_ns < self.warm_up_ns || time_ns == u64::MAX {
            return;
        }
        self.engine.marking.now_ns = self.warm_up_ns;
        self.engine.observes = true;
        self.engine.watch_places(self.plans);
        begin(&mut self.engine);
    }

    /// Creates the error for a simulated time that never advances. To find the transitions that
    /// cause this, fires for a while at the present instant. The error names the transitions that
    /// fired most often.
    #[cold]
    fn livelock(&mut self) -> NetError {
        let mut counts = vec![0u64; self.net.transitions.len()];
        for _ in 0..LIVELOCK_SAMPLE {
            match self.engine.fire_now() {
                Ok(Some(transition)) => counts[transition] += 1,
                Ok(None) => break,
                Err(error) => return error,
            }
        }
        let mut order: Vec<usize> = (0..counts.len()).filter(|&at| counts[at] > 0).collect();
        order.sort_by_key(|&at| (std::cmp::Reverse(counts[at]), at));
        order.truncate(3);
        let names: Vec<String> = order.into_iter().map(|at| self.net.context(at)).collect();
        let most = self.options.max_instant_firings;
        let reason = format!(
            "more than {most} firings without time moving (livelock); most often: {}",
            names.join("; ")
        );
        NetError::run(self.at(), reason)
    }

    #[cold]
    fn growth(&self) -> NetError {
        let place = &self.net.places[self.engine.marking.fullest_place()].name;
        let most = self.options.max_tokens;
        let reason = format!("more than {most} tokens, most of them in place {place}");
        NetError::run(self.at(), reason)
    }

    fn at(&self) -> String {
        format!("at {} s", seconds(self.engine.marking.now_ns))
    }

    /// The report on the replication, without its stations.
    fn report(&self, replication: u32, reason: Reason) -> ReplicationReport {
        let engine = &self.engine;
        let end_ns = engine.marking.now_ns;
        let start_ns = if engine.observes {
            self.warm_up_ns
        } else {
            end_ns
        };
        let is_begun = engine.observes;
        let window = Window {
            start_ns,
            end_ns,
            is_begun,
        };
        let area = |place: usize| (engine.marking.area(place), engine.marking.counts[place]);
        let monitors = engine.monitors.iter();
        let monitors: Vec<MonitorReport> = monitors
            .map(|monitor| monitor.report(self.net, window, area))
            .collect();
        let left = match reason {
            Reason::Dead => self.left(),
            _ => BTreeMap::new(),
        };
        ReplicationReport {
            replication,
            end_time_ns: end_ns,
            firings: engine.firings,
            reason,
            warmed_up: engine.observes,
            monitors,
            left,
            stations: None,
        }
    }

    /// The places with the most tokens when nothing can fire any more, with their numbers of
    /// tokens.
    fn left(&self) -> BTreeMap<String, usize> {
        let totals = self.engine.marking.totals();
        let mut places: Vec<usize> = (0..totals.len()).filter(|&at| totals[at] > 0).collect();
        places.sort_by_key(|&at| (std::cmp::Reverse(totals[at]), at));
        places.truncate(LEFT_MAX);
        let one = |at: usize| (self.net.places[at].name.clone(), totals[at]);
        places.into_iter().map(one).collect()
    }
}
