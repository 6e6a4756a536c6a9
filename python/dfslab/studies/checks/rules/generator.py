"""Plausibility rules that fire if the load generator or its machine, instead of the storage,
determined a measured figure."""

from __future__ import annotations

from dfslab.documents.evidence import Evidence
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule
from dfslab.studies.checks.thresholds import OTHERS, STOLEN

NAMES = (
    "generator_saturated",
    "generator_late",
    "coordinated_omission",
    "processor_shared",
    "processor_stolen",
    "processor_throttled",
    "clock_step",
)
# Largest accepted fraction of an operation's time that the load generator itself takes. Above one
# half, the generator takes more time than the storage.
OWN_SHARE = 0.5
# Largest accepted share of the time that a generator's thread computes in user mode. The thread can
# wait for storage only in the remaining time.
USER_SHARE = 0.8
# The schedule of arrivals counts as kept if the measured rate is at least this fraction of the
# scheduled rate. Random schedules deviate by 1 or 2 %.
KEPT = 0.95
# Largest error in seconds of a duration that is computed from dates of start and end, which are
# whole seconds.
STAMP_S = 2.0
STEP_SHARE = 0.05


def _saturated(one: Evidence) -> str | None:
    own, user = one.generator.own_share, one.generator.user_share
    if own is not None and own > OWN_SHARE:
        return f"the generator's own work is {own:.0%} of the mean time of an operation"
    if user is not None and user > USER_SHARE:
        return f"the generator computes for {user:.0%} of the time"
    return None


def _late(one: Evidence) -> str | None:
    if not one.generator.is_late:
        return None
    return "operations began later than scheduled because the generator was busy"


def _omission(one: Evidence) -> str | None:
    scheduled, rate = one.work.scheduled_rate, one.speed.rate
    if scheduled is None or rate is None or one.work.from_schedule is not False:
        return None
    if not scheduled or rate >= KEPT * scheduled:
        return None
    return (
        f"{rate:,.5g} of {scheduled:,.5g} scheduled operations a second were done, and times "
        "count from the actual start"
    )


def _shared(one: Evidence) -> str | None:
    share = one.generator.others
    if share is None or share <= OTHERS:
        return None
    return f"other programs used {share:.0%} of the processors meanwhile"


def _stolen(one: Evidence) -> str | None:
    share = one.generator.stolen
    if share is None or share <= STOLEN:
        return None
    return f"a hypervisor took {share:.0%} of the processor time meanwhile"


def _throttled(one: Evidence) -> str | None:
    share = one.generator.throttled
    if share is None or share <= STOLEN:
        return None
    return f"the clients were without processor for {share:.0%} of the time"


def _clock(one: Evidence) -> str | None:
    step_s, took_s = one.generator.clock_step, one.work.duration
    if step_s is not None and took_s and step_s > STEP_SHARE * took_s:
        shown = f"{units.text(step_s, 's', 3)} during {units.text(took_s, 's', 3)}"
        return f"the clock was set by {shown}"
    dated_s = one.work.elapsed
    if dated_s is None or took_s is None or took_s <= dated_s * (1 + STEP_SHARE) + STAMP_S:
        return None
    return (
        f"the timed part took {units.text(took_s, 's', 4)}, but start and end are "
        f"{units.text(dated_s, 's', 4)} apart"
    )


make = rule.table(
    Rule(
        "generator_saturated",
        "A generator without spare time limits the rate, and its work is part of every time.",
        "Use more processes or nodes; measure the same load on a target that does nothing.",
        _saturated,
    ),
    Rule(
        "generator_late",
        "Response times then contain delays of the generator.",
        "Lower the rate or use more processes, until operations begin as scheduled.",
        _late,
    ),
    Rule(
        "coordinated_omission",
        "A client that waits does not send what was scheduled, so that waiting is in no time.",
        "Count times from the scheduled start, as an open workload here does, or state the rate "
        "that was reached.",
        _omission,
    ),
    Rule(
        "processor_shared",
        "The load and the servers on this machine may have waited for a processor.",
        "Repeat when the other programs have ended; raise run.repetitions until rates agree.",
        _shared,
        is_doubt=True,
    ),
    Rule(
        "processor_stolen",
        "Clients and servers of a virtual machine were slower than the storage.",
        "Repeat on a machine that is not shared, or pin its virtual processors.",
        _stolen,
    ),
    Rule(
        "processor_throttled",
        "A quota of the container or heat limited the rate instead of the storage.",
        "Raise the quota or cool the machine; compare frequencies before and after.",
        _throttled,
    ),
    Rule(
        "clock_step",
        "A rate is a count divided by a time, and the time is wrong.",
        "Use a monotonic clock; switch off time synchronisation that steps during the run.",
        _clock,
    ),
).__getitem__
