//! Watches the calls that a run has in progress. If the target no longer answers, the run is given
//! up and its partial results are reported.
//!
//! A thread that waits in the kernel for a file system cannot be ended. A run that is given up
//! therefore leaves its threads behind. If the target answers later, these threads remove the files
//! of their clients.

use std::collections::BTreeMap;

use crate::clock::{cpu_time, monotonic_ns};
use crate::execution::control::{Control, Phase};
use crate::execution::setup::Setup;
use crate::execution::watch::locked;
use crate::plan::Plan;
use crate::record::Record;
use crate::report::outcome::{outcome, Outcome, PhaseTiming, RunFigures, Timing};
use crate::report::CpuReport;
use crate::{Error, ErrorKind, Result};

/// Lower and upper bound of the default grace in s. The grace is the time that a call may last
/// beyond the time limit. File-system clients retry for up to two minutes, which the upper bound
/// covers.
const LEAST_GRACE_S: f64 = 10.0;
const MOST_GRACE_S: f64 = 120.0;
/// Ratio of the default grace to the run's time limit. The result is limited by the bounds above.
/// Without a time limit, the default grace is `MOST_GRACE_S`.
const GRACE_OF_LIMIT: f64 = 2.0;
/// Largest number of hung calls that an error names.
const MOST_NAMED: usize = 16;

/// A call that has lasted longer than the plan allows.
pub struct Hung {
    who: String,
    call: String,
    lasts_s: f64,
}

impl Hung {
    fn text(&self) -> String {
        let (who, call) = (&self.who, &self.call);
        format!("{who} has been in {call} for {:.1} s", self.lasts_s)
    }
}

/// Returns the calls of a run that, at the time `now` (ns of the monotonic clock), have lasted
/// longer than the plan allows. A call counts as hung once the grace has passed after a certain
/// time. This time is, for a call that began at time t:
/// - in the timed part: the time limit of the phase, or t if that is later;
/// - outside the timed part: t plus the length of the time limit;
/// - if the run was stopped before that time: the stop, or t if that is later.
pub fn hung(plan: &Plan, control: &Control, now: u64) -> Vec<Hung> {
    let watch = control.watch();
    let zero = locked(&watch.begun).zeros.last().copied();
    let allowed = Allowed {
        grace_ns: ns(plan.grace_s.unwrap_or_else(|| default_grace_s(plan))),
        limit_ns: plan.time_limit_s.map(ns),
        deadline: zero
            .zip(plan.time_limit_s)
            .map(|(zero, s)| zero.saturating_add(ns(s))),
        is_timed: control.is_in(Phase::Running),
        stopped_at: control.stopped_at(),
    };
    let clients = watch.clients.get().map_or(&[][..], Vec::as_slice);
    let named = clients
        .iter()
        .map(|(number, slot)| (format!("client {number}"), slot.as_ref()));
    let runner = ("the load generator".to_string(), &watch.runner);
    let mut found = Vec::new();
    for (who, slot) in named.chain([runner]) {
        let Some(since) = slot.since() else { continue };
        if allowed.until(since).is_some_and(|until| now >= until) {
            let lasts_s = now.saturating_sub(since) as f64 * 1e-9;
            let call = slot.text();
            found.push(Hung { who, call, lasts_s });
        }
    }
    found
}

/// How long calls of a run may last before they count as hung.
struct Allowed {
    grace_ns: u64,
    limit_ns: Option<u64>,
    /// The time limit of the present phase, as a reading of the monotonic clock in ns. None if
    /// there is no time limit, or before the first phase.
    deadline: Option<u64>,
    is_timed: bool,
    stopped_at: Option<u64>,
}

impl Allowed {
    /// The time until which a call that began at `since` may last; None if it may last for ever.
    /// Both times are ns of the monotonic clock.
    fn until(&self, since: u64) -> Option<u64> {
        let planned = match self.is_timed {
            true => self.deadline.map(|deadline| deadline.max(since)),
            false => self.limit_ns.map(|limit| since.saturating_add(limit)),
        };
        let stopped = self.stopped_at.map(|at| at.max(since));
        let base = planned.into_iter().chain(stopped).min()?;
        Some(base.saturating_add(self.grace_ns))
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn default_grace_s(plan: &Plan) -> f64 {
    let limit_s = plan.time_limit_s.unwrap_or(MOST_GRACE_S);
    (GRACE_OF_LIMIT * limit_s).clamp(LEAST_GRACE_S, MOST_GRACE_S)
}

/// Gives up a run with hung calls. Stops the run and reports what its clients had completed. The
/// report has two errors: one names the hung calls, and the other concerns the files that may be
/// left. Returns an error if the timed part had not begun.
pub fn give_up(plan: &Plan, control: &Control, hung: &[Hung]) -> Result<Outcome> {
    control.stop();
    let watch = control.watch();
    let directory = &plan.run_directory;
    let begun = std::mem::take(&mut *locked(&watch.begun));
    let Some(first) = begun.zeros.first().copied() else {
        let reason = format!("no answer: {}; files may be left", texts(hung));
        return Err(Error::new(ErrorKind::Timeout, "wait", directory, reason));
    };
    let now_cpu = cpu_time();
    let timing = Timing {
        zero_unix_ns: begun.zero_unix_ns,
        late_s: begun.late_s,
        cpu: CpuReport {
            user: now_cpu.user - begun.cpu.user,
            system: now_cpu.system - begun.cpu.system,
        },
        phases: begun.zeros.iter().map(|zero| partial(*zero)).collect(),
        complete: false,
    };
    let mut records = watch.known();
    if records.is_empty() {
        let mut none = Record::new(plan.clients().start, first, begun.zero_unix_ns, 0);
        none.begin_part(first);
        records.push(none);
    }
    let error = Error::new(ErrorKind::Timeout, "wait", directory, texts(hung));
    records[0].note("no_answer", &error);
    let reason = "the run was given up, its files may be left";
    let left = Error::new(ErrorKind::Timeout, "remove", directory, reason);
    records[0].note("clean_up", &left);
    let figures = RunFigures {
        generator: watch.generator.get().cloned().unwrap_or_default(),
        layers: BTreeMap::new(),
        wall_s: monotonic_ns().saturating_sub(first) as f64 * 1e-9,
    };
    Ok(outcome(&Setup::new(plan), &records, &timing, figures))
}

/// The hung calls as one text, which names the first `MOST_NAMED` calls and gives the number of the
/// other calls.
fn texts(hung: &[Hung]) -> String {
    let named: Vec<String> = hung.iter().take(MOST_NAMED).map(Hung::text).collect();
    match hung.len() - named.len() {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    }
}

fn partial(zero: u64) -> PhaseTiming {
    PhaseTiming {
        start_ns: zero,
        wall_ns: u64::MAX,
        cold: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn allowed(is_timed: bool, stopped_at: Option<u64>) -> Allowed {
        Allowed {
            grace_ns: 2 * S,
            limit_ns: Some(10 * S),
            deadline: Some(110 * S),
            is_timed,
            stopped_at,
        }
    }

    #[test]
    fn a_timed_call_may_last_until_the_deadline_and_the_grace() {
        assert_eq!(allowed(true, None).until(105 * S), Some(112 * S));
        assert_eq!(allowed(true, None).until(111 * S), Some(113 * S));
    }

    #[test]
    fn other_work_may_last_for_the_limit_and_the_grace() {
        assert_eq!(allowed(false, None).until(105 * S), Some(117 * S));
    }

    #[test]
    fn a_stopped_call_may_last_for_the_grace() {
        assert_eq!(allowed(true, Some(101 * S)).until(100 * S), Some(103 * S));
        assert_eq!(allowed(true, Some(101 * S)).until(102 * S), Some(104 * S));
    }

    #[test]
    fn a_call_without_a_limit_may_last_for_ever_until_the_run_is_stopped() {
        let mut free = allowed(true, None);
        (free.limit_ns, free.deadline) = (None, None);
        assert_eq!(free.until(100 * S), None);
        free.stopped_at = Some(101 * S);
        assert_eq!(free.until(100 * S), Some(103 * S));
    }
}
