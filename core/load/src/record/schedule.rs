//! Reports how well a run kept the schedule of an open workload. There are two figures: the rate of
//! operations that the schedule requested, and the backlog (lateness of the last operation) at the
//! end of the schedule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The arrivals of one client's schedule in one phase. Arrivals whose operations were not begun are
/// left out. All times are ns of the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    /// Number of arrivals. An arrival is one operation, or a session of several operations.
    pub arrivals: u64,
    /// Number of operations in these arrivals.
    pub operations: u64,
    /// Scheduled start of the first arrival.
    pub first_due: u64,
    /// Scheduled start of the last arrival.
    pub last_due: u64,
    /// Actual start of the last arrival.
    pub last_begun: u64,
}

/// The arrivals that a schedule requested, in one phase or in all phases. A random schedule of a
/// few hundred operations is some per cent shorter or longer than its nominal rate implies. A
/// measured rate is therefore compared with `offered_per_s`, not with the nominal rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleReport {
    /// Number of arrivals that were begun; an arrival is an operation or a session of operations.
    pub arrivals: u64,
    /// Number of operations in these arrivals.
    pub operations: u64,
    /// Scheduled start of the first arrival, seconds after the common start.
    pub first_s: f64,
    /// Scheduled start of the last arrival, seconds after the common start.
    pub last_s: f64,
    /// Actual start of the last arrival, seconds after the common start.
    pub begun_s: f64,
    /// Time from the first to the last scheduled start, seconds. Over several phases, the sum of
    /// the phases' times.
    pub span_s: f64,
    /// Operations per second that the schedule requested over `span_s`; 0 for a single arrival.
    pub offered_per_s: f64,
    /// Backlog at the end of the phase in seconds: the actual start of the last arrival minus its
    /// scheduled start. In a report on several phases, it is the sum of the phases' backlogs.
    pub behind_s: f64,
}

impl ScheduleReport {
    /// Combines the arrivals that all clients began in one phase. The phase started at `zero`, in
    /// ns of the monotonic clock. Returns None if no arrival was begun.
    pub fn of(zero: u64, begun: impl Iterator<Item = Begun>) -> Option<ScheduleReport> {
        let since = |at: u64| at.saturating_sub(zero) as f64 * 1e-9;
        let one = |begun: Begun| ScheduleReport {
            arrivals: begun.arrivals,
            operations: begun.operations,
            first_s: since(begun.first_due),
            last_s: since(begun.last_due),
            begun_s: since(begun.last_begun),
            ..ScheduleReport::default()
        };
        let mut whole = begun
            .filter(|begun| begun.arrivals > 0)
            .map(one)
            .reduce(ScheduleReport::with)?;
        whole.settle();
        Some(whole)
    }

    /// Combines the arrivals of `self` and of `other`. The times of both count from the same
    /// instant. The derived fields of the result are wrong until the caller calls `settle` or sets
    /// them.
    fn with(self, other: ScheduleReport) -> ScheduleReport {
        ScheduleReport {
            arrivals: self.arrivals + other.arrivals,
            operations: self.operations + other.operations,
            first_s: self.first_s.min(other.first_s),
            last_s: self.last_s.max(other.last_s),
            begun_s: self.begun_s.max(other.begun_s),
            ..self
        }
    }

    /// Merges the schedule reports of two shards that started at the same instant. A report is None
    /// if the workload of the shard has no schedule. If one report is None, the result is the other
    /// report.
    pub fn merged(mine: Option<Self>, theirs: Option<Self>) -> Option<Self> {
        let (Some(mine), Some(theirs)) = (mine, theirs) else {
            return mine.or(theirs);
        };
        let mut whole = mine.with(theirs);
        whole.settle();
        Some(whole)
    }

    /// Combines the schedule reports of consecutive phases into one. Each element of `phases` has
    /// the start of a phase, in seconds after the start of the run, and the report of the phase.
    pub fn in_turn(phases: impl Iterator<Item = (f64, Option<Self>)>) -> Option<Self> {
        let moved = phases.filter_map(|(start_s, its)| {
            let its = its?;
            Some(ScheduleReport {
                first_s: its.first_s + start_s,
                last_s: its.last_s + start_s,
                begun_s: its.begun_s + start_s,
                ..its
            })
        });
        moved.reduce(|before, after| {
            let span_s = before.span_s + after.span_s;
            let offered = |one: &Self| one.offered_per_s * one.span_s;
            ScheduleReport {
                span_s,
                offered_per_s: over(offered(&before) + offered(&after), span_s),
                behind_s: before.behind_s + after.behind_s,
                ..before.with(after)
            }
        })
    }

    /// Computes the derived fields of one phase's schedule: span, backlog and offered rate.
    fn settle(&mut self) {
        self.span_s = self.last_s - self.first_s;
        self.behind_s = self.begun_s - self.last_s;
        // There are n - 1 gaps between n arrivals. The offered rate is therefore (n - 1) x
        // (operations per arrival) / (time from the first to the last arrival).
        let gaps = self.arrivals.saturating_sub(1) as f64;
        let each = self.operations as f64 / self.arrivals.max(1) as f64;
        self.offered_per_s = over(gaps * each, self.span_s);
    }
}

fn over(value: f64, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => value / seconds,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(first_due: u64, last_due: u64, last_begun: u64) -> Begun {
        Begun {
            arrivals: 50,
            operations: 100,
            first_due,
            last_due,
            last_begun,
        }
    }

    #[test]
    fn offered_rates_of_clients_are_weighted_by_their_spans() {
        const S: u64 = 1_000_000_000;
        let clients = [client(S, 9 * S, 9 * S), client(2 * S, 11 * S, 12 * S)];
        let whole = ScheduleReport::of(S, clients.into_iter()).unwrap();
        assert_eq!(
            (whole.first_s, whole.span_s, whole.behind_s),
            (0.0, 10.0, 1.0)
        );
        // The 100 sessions have 99 gaps, and each session has two operations: 99 x 2 / 10 s = 19.8
        // per second.
        assert!((whole.offered_per_s - 19.8).abs() < 1e-12, "{whole:?}");
        let apart = clients.map(|one| ScheduleReport::of(S, [one].into_iter()));
        assert_eq!(ScheduleReport::merged(apart[0], apart[1]), Some(whole));
        assert_eq!(ScheduleReport::merged(None, apart[1]), apart[1]);
        let phases = [(0.0, Some(whole)), (20.0, None), (30.0, Some(whole))];
        let all = ScheduleReport::in_turn(phases.into_iter()).unwrap();
        assert_eq!((all.span_s, all.behind_s, all.begun_s), (20.0, 2.0, 41.0));
        assert!((all.offered_per_s - 19.8).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn a_load_without_a_schedule_has_none() {
        assert_eq!(ScheduleReport::of(5, [Begun::default()].into_iter()), None);
        let single = ScheduleReport::of(
            5,
            [Begun {
                arrivals: 1,
                ..client(6, 6, 7)
            }]
            .into_iter(),
        );
        assert_eq!(single.unwrap().offered_per_s, 0.0);
    }
}
