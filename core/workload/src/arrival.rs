//! Schedules the start times of operations. In a closed loop, a client waits for each response
//! before its next operation. In an open schedule, it does not wait.

mod profile;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::profile::Profile;
use crate::random::{normal, unit};
use crate::{draw, SpecError};

/// Identifiers of the random numbers that this module draws, one for each purpose. Numbers with
/// different identifiers are independent.
const GAP: u64 = 24;
const GAP_AGAIN: u64 = 25;
const LENGTH: u64 = 26;
/// Largest rate that a specification may have, in arrivals per second.
const MOST_RATE_PER_S: f64 = 1e9;

/// When operations are scheduled to start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// A closed loop: a client waits for the end of each operation and then for the think time,
    /// before it starts the next operation.
    #[default]
    Closed,
    /// An open workload: operations start at times that do not depend on their durations.
    Open(Open),
    /// At given times, in seconds after the common start. There is one ascending list for each
    /// client.
    Given(Vec<Vec<f64>>),
}

/// The parameters of an open workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Arrivals per second, summed over all clients.
    pub rate_per_s: f64,
    /// Distribution of the times between arrivals.
    #[serde(default)]
    pub process: Spacing,
    /// Factors of the rate over time, as (seconds after the start, factor). Between two entries,
    /// the factor is interpolated linearly. After the last one, it is constant. Empty: always 1.
    #[serde(default)]
    pub profile: Vec<(f64, f64)>,
    /// If set, sessions of several requests arrive instead of single operations. In a session, each
    /// request waits for the end of the previous one. None: single operations arrive.
    #[serde(default)]
    pub session: Option<Session>,
}

/// Distribution of the times between arrivals, whose mean is 1 / rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Spacing {
    /// The times between arrivals are constant.
    #[default]
    Even,
    /// The times between arrivals are exponential, as in a Poisson process.
    Poisson,
    /// The times between the arrivals of one client are lognormal. The parameter is the standard
    /// deviation of their logarithm. Each client is an independent renewal process.
    Lognormal(f64),
}

/// A session: each request starts a think time after the end of the previous one (a partly open
/// workload; Schroeder, Wierman and Harchol-Balter 2006, "Open versus closed: a cautionary tale").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Mean number of requests of a session; the number is geometrically distributed, at least 1.
    pub requests: f64,
    /// Think time between requests, seconds.
    #[serde(default)]
    pub think_time_s: f64,
}

/// The scheduled start of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Nanoseconds after the common start.
    At(u64),
    /// Nanoseconds after the end of the client's previous operation.
    After(u64),
    /// The operation never starts, because the list of given times is exhausted.
    Never,
}

impl Arrival {
    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        let wrong = |key, value: String, allowed| {
            Err(SpecError {
                key,
                value,
                allowed,
            })
        };
        let open = match self {
            Arrival::Closed => return Ok(()),
            Arrival::Given(times) => {
                let ascend = times.iter().all(|its| ascending(its.iter().copied()));
                return match ascend && times.iter().any(|its| !its.is_empty()) {
                    true => Ok(()),
                    false => wrong("arrival.given", "times".into(), "ascending, from 0 s on"),
                };
            }
            Arrival::Open(open) => open,
        };
        if !(open.rate_per_s > 0.0 && open.rate_per_s <= MOST_RATE_PER_S) {
            let value = open.rate_per_s.to_string();
            return wrong("arrival.open.rate_per_s", value, "above 0, at most 1e9");
        }
        if let Spacing::Lognormal(sigma) = open.process {
            if !(0.0..=10.0).contains(&sigma) {
                let value = sigma.to_string();
                return wrong("arrival.open.process.lognormal", value, "0 to 10");
            }
        }
        let profile = &open.profile;
        let is_factor = |factor: f64| factor.is_finite() && factor >= 0.0;
        if !ascending(profile.iter().map(|(time, _)| *time))
            || !profile.iter().all(|(_, factor)| is_factor(*factor))
            || profile.last().is_some_and(|(_, factor)| *factor <= 0.0)
        {
            let allowed = "ascending times, factors not negative and the last one positive";
            return wrong("arrival.open.profile", format!("{profile:?}"), allowed);
        }
        match open.session {
            Some(session)
                if !(1.0..=1e9).contains(&session.requests)
                    || !(0.0..=86_400.0).contains(&session.think_time_s) =>
            {
                let value = format!("{session:?}");
                let allowed = "at least 1 request; 0 to 86400 s between them";
                wrong("arrival.open.session", value, allowed)
            }
            _ => Ok(()),
        }
    }

    /// Whether operations or sessions start independently of responses; false for a closed loop.
    pub fn is_open(&self) -> bool {
        *self != Arrival::Closed
    }
}

fn ascending(mut times: impl Iterator<Item = f64>) -> bool {
    let mut before = 0.0;
    times.all(|time| {
        let right = time.is_finite() && time >= before;
        before = time;
        right
    })
}

/// Iterates over the scheduled starts of one client's operations, in order.
pub struct Schedule<'a> {
    arrival: &'a Arrival,
    seed: u64,
    client: u32,
    think_ns: u64,
    /// Number of arrivals so far. `unit_time` is the time of the latest arrival, in units of the
    /// mean time between arrivals of one client. `unit_time` is used only if the times between
    /// arrivals vary.
    arrivals: u64,
    unit_time: f64,
    /// Fraction, 0 to 1, of the time between arrivals by which this client's arrivals are shifted,
    /// so that clients do not start together. Used when all times between arrivals are constant.
    share: f64,
    profile: Profile,
    /// Time in ns between a client's arrivals; None if the rate changes over time.
    gap_ns: Option<f64>,
    /// Time in ns between a client's arrivals, if they are single operations, evenly spaced, at a
    /// rate that does not change. Otherwise None.
    even_ns: Option<f64>,
    /// Requests remaining in the current session.
    session_left: u64,
}

impl<'a> Schedule<'a> {
    /// Makes the schedule of client number `client` among `clients`. In a closed loop,
    /// `think_time_s` seconds separate the operations.
    pub fn new(
        arrival: &'a Arrival,
        seed: u64,
        (client, clients): (u32, u32),
        think_time_s: f64,
    ) -> Self {
        let even = matches!(
            arrival,
            Arrival::Open(Open {
                process: Spacing::Even,
                session: None,
                ..
            })
        );
        let (rate, points) = match arrival {
            Arrival::Open(open) => (open.rate_per_s, open.profile.as_slice()),
            _ => (1.0, [].as_slice()),
        };
        let gap_ns = points.is_empty().then_some(f64::from(clients) * 1e9 / rate);
        Schedule {
            arrival,
            seed,
            client,
            think_ns: nanoseconds(think_time_s),
            arrivals: 0,
            unit_time: 0.0,
            share: f64::from(client) / f64::from(clients),
            profile: Profile::new(points, rate / f64::from(clients)),
            gap_ns,
            even_ns: gap_ns.filter(|_| even),
            session_left: 0,
        }
    }

    /// Returns the scheduled start of the next operation. `think_time_s` is the think time in
    /// seconds that this operation specifies; None if the operation specifies no think time.
    #[inline]
    pub fn next_start(&mut self, think_time_s: Option<f64>) -> Start {
        if let Some(gap_ns) = self.even_ns {
            self.arrivals += 1;
            return Start::At(even(self.arrivals - 1, self.share, gap_ns));
        }
        match self.arrival {
            Arrival::Closed => Start::After(think_time_s.map_or(self.think_ns, nanoseconds)),
            Arrival::Given(times) => {
                let its = times.get(self.client as usize);
                let time = its.and_then(|its| its.get(self.arrivals as usize));
                self.arrivals += 1;
                time.map_or(Start::Never, |time| Start::At(nanoseconds(*time)))
            }
            Arrival::Open(open) => self.next_open(open),
        }
    }

    /// Whether all start times are independent of the ends of earlier operations. This is false for
    /// a closed loop, and for sessions, whose requests wait for each other.
    pub fn waits_for_nobody(&self) -> bool {
        match self.arrival {
            Arrival::Closed => false,
            Arrival::Given(_) => true,
            Arrival::Open(open) => open.session.is_none(),
        }
    }

    /// Appends to `starts` the next `most` start times of an open schedule, in ns, where `zero` is
    /// the common start. Appends fewer when the schedule ends.
    pub fn starts(&mut self, zero: u64, most: usize, starts: &mut Vec<u64>) {
        debug_assert!(self.waits_for_nobody());
        if let Some(gap_ns) = self.even_ns {
            let (share, from) = (self.share, self.arrivals);
            self.arrivals += most as u64;
            let start = |arrival| zero.saturating_add(even(arrival, share, gap_ns));
            return starts.extend((from..self.arrivals).map(start));
        }
        for _ in 0..most {
            match self.next_start(None) {
                // On overflow, the sum is the largest time, at which no operation starts.
                Start::At(after_ns) => starts.push(zero.saturating_add(after_ns)),
                _ => return,
            }
        }
    }

    #[inline]
    fn next_open(&mut self, open: &Open) -> Start {
        if self.session_left > 0 {
            self.session_left -= 1;
            let pause_s = open.session.map_or(0.0, |session| session.think_time_s);
            return Start::After(nanoseconds(pause_s));
        }
        if let Some(session) = open.session {
            let u = 1.0 - unit(self.bits(LENGTH));
            // The number of requests has a geometric distribution that begins at 1, with the mean
            // `session.requests`.
            let failing = 1.0 - 1.0 / session.requests;
            if failing > 0.0 {
                self.session_left = (u.ln() / failing.ln()).min(1e9) as u64;
            }
        }
        let unit_time = match open.process {
            Spacing::Even => self.arrivals as f64 + self.share,
            Spacing::Poisson => {
                self.unit_time -= (1.0 - unit(self.bits(GAP))).ln();
                self.unit_time
            }
            Spacing::Lognormal(sigma) => {
                let z = normal(self.bits(GAP), self.bits(GAP_AGAIN));
                self.unit_time += (sigma * z - sigma * sigma / 2.0).exp();
                self.unit_time
            }
        };
        self.arrivals += 1;
        Start::At(match self.gap_ns {
            Some(gap_ns) => (unit_time * gap_ns) as u64,
            None => nanoseconds(self.profile.time_of(unit_time)),
        })
    }

    fn bits(&self, purpose: u64) -> u64 {
        let client = u64::from(self.client) | 3 << 32;
        draw(self.seed, client, self.arrivals, purpose)
    }
}

/// Returns the time in ns of arrival number `arrival` in an evenly spaced schedule, whose first
/// arrival is at `share` * `gap_ns`.
#[inline]
fn even(arrival: u64, share: f64, gap_ns: f64) -> u64 {
    // The conversion goes through i64, since processors convert signed integers to and from floats
    // in one instruction.
    ((arrival as i64 as f64 + share) * gap_ns) as i64 as u64
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(open: Open, clients: u32, each: usize) -> Vec<f64> {
        let arrival = Arrival::Open(open);
        arrival.validate().unwrap();
        let mut all = Vec::new();
        for client in 0..clients {
            let mut schedule = Schedule::new(&arrival, 7, (client, clients), 0.0);
            for _ in 0..each {
                match schedule.next_start(None) {
                    Start::At(ns) => all.push(ns as f64 * 1e-9),
                    other => panic!("{other:?}"),
                }
            }
        }
        all.sort_by(f64::total_cmp);
        all
    }

    fn open(process: Spacing) -> Open {
        Open {
            rate_per_s: 1000.0,
            process,
            profile: vec![],
            session: None,
        }
    }

    #[test]
    fn the_arrivals_of_all_even_clients_are_even() {
        let all = starts(open(Spacing::Even), 8, 100);
        for (turn, time) in all.iter().enumerate() {
            assert!((time - turn as f64 / 1000.0).abs() < 2e-9, "{turn}: {time}");
        }
    }

    #[test]
    fn many_starts_at_once_are_one_after_the_other() {
        let session = Session {
            requests: 3.0,
            think_time_s: 0.0,
        };
        let mut waiting = open(Spacing::Even);
        waiting.session = Some(session);
        for (arrival, waits) in [
            (Arrival::Closed, true),
            (Arrival::Open(waiting), true),
            (Arrival::Open(open(Spacing::Even)), false),
            (Arrival::Open(open(Spacing::Poisson)), false),
            (
                Arrival::Given(vec![vec![], (0..33).map(f64::from).collect()]),
                false,
            ),
        ] {
            let new = || Schedule::new(&arrival, 7, (1, 3), 0.0);
            assert_eq!(new().waits_for_nobody(), !waits, "{arrival:?}");
            if waits {
                continue;
            }
            let (mut quick, mut other, mut observed) = (new(), new(), Vec::new());
            (0..10).for_each(|_| quick.starts(5, 7, &mut observed));
            let one = |_| match other.next_start(None) {
                Start::At(ns) => Some(5 + ns),
                _ => None,
            };
            let expected: Vec<u64> = (0..70).map_while(one).collect();
            assert_eq!(observed, expected, "{arrival:?}");
            let given = matches!(arrival, Arrival::Given(_));
            assert_eq!(observed.len(), if given { 33 } else { 70 });
        }
    }

    #[test]
    fn what_comes_never_is_due_at_the_end_of_time() {
        let silent = Open {
            profile: vec![(0.0, 1.0), (1.0, 1.0), (1.0, 1e-12)],
            rate_per_s: 100.0,
            ..open(Spacing::Even)
        };
        let arrival = Arrival::Open(silent);
        arrival.validate().unwrap();
        let mut observed = Vec::new();
        Schedule::new(&arrival, 7, (0, 1), 0.0).starts(1 << 60, 150, &mut observed);
        assert!(observed.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(observed.last(), Some(&u64::MAX));
    }

    #[test]
    fn random_processes_have_their_rate_and_spread() {
        for (process, spread) in [
            (Spacing::Poisson, 1.0),
            (Spacing::Lognormal(0.5), ((0.25f64).exp() - 1.0).sqrt()),
        ] {
            let all = starts(open(process), 1, 50_000);
            let gaps: Vec<f64> = all
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) * 1e3)
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let sd = (square / gaps.len() as f64).sqrt();
            // The tolerance is five standard errors: for 50000 intervals, 2.2 % of their standard
            // deviation.
            assert!((mean - 1.0).abs() < 0.025, "{process:?}: {mean}");
            assert!((sd / spread - 1.0).abs() < 0.05, "{process:?}: {sd}");
        }
    }

    #[test]
    fn a_profile_bends_the_rate() {
        // The rate rises from 0 to its full value in the first 10 s, in which 5000 operations
        // arrive, and then stays constant.
        let ramp = Open {
            profile: vec![(0.0, 0.0), (10.0, 1.0)],
            ..open(Spacing::Even)
        };
        let all = starts(ramp, 4, 5_000);
        let until = |end: f64| all.iter().filter(|time| **time < end).count() as f64;
        assert!(all[0] < 1e-6, "{}", all[0]);
        assert!((until(5.0) - 1250.0).abs() <= 2.0, "{}", until(5.0));
        assert!((until(10.0) - 5000.0).abs() <= 2.0, "{}", until(10.0));
        assert!((until(14.0) - 9000.0).abs() <= 2.0, "{}", until(14.0));
    }

    #[test]
    fn sessions_have_their_length_and_pause() {
        let arrival = Arrival::Open(Open {
            session: Some(Session {
                requests: 5.0,
                think_time_s: 0.25,
            }),
            ..open(Spacing::Poisson)
        });
        let mut schedule = Schedule::new(&arrival, 7, (0, 1), 0.0);
        let starts: Vec<Start> = (0..50_000).map(|_| schedule.next_start(None)).collect();
        let sessions = starts.iter().filter(|s| matches!(s, Start::At(_))).count();
        assert!(
            (sessions as f64 / 10_000.0 - 1.0).abs() < 0.05,
            "{sessions}"
        );
        assert!(starts.contains(&Start::After(250_000_000)));
    }

    #[test]
    fn given_times_are_each_clients_own_and_end() {
        let arrival = Arrival::Given(vec![vec![0.5, 1.5], vec![1.0]]);
        let of = |client| {
            let mut schedule = Schedule::new(&arrival, 7, (client, 3), 0.0);
            [schedule.next_start(None), schedule.next_start(None)]
        };
        let at = |ms: u64| Start::At(ms * 1_000_000);
        assert_eq!(of(0), [at(500), at(1500)]);
        assert_eq!(of(1), [at(1000), Start::Never]);
        assert_eq!(of(2), [Start::Never, Start::Never]);
    }

    #[test]
    fn schedules_that_cannot_be_are_refused() {
        let wrong = [
            Arrival::Given(vec![vec![]]),
            Arrival::Given(vec![vec![0.5], vec![1.0, 0.5]]),
            Arrival::Open(Open {
                rate_per_s: 0.0,
                ..open(Spacing::Even)
            }),
            Arrival::Open(Open {
                profile: vec![(0.0, 1.0), (1.0, 0.0)],
                ..open(Spacing::Even)
            }),
            Arrival::Open(open(Spacing::Lognormal(f64::NAN))),
        ];
        for arrival in wrong {
            assert!(arrival.validate().is_err(), "{arrival:?}");
        }
    }
}
