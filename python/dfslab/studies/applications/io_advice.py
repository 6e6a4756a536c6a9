"""Advice from the I/O counters of an application. It lists the changes that are worth making, the
largest saving first, and the changes that are not worth making."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import BaseModel

from dfslab.documents.answers import Sureness
from dfslab.documents.table import Column, Table, TableCell, words
from dfslab.imports.applications.io_counters import IoCounters
from dfslab.spec import units
from dfslab.spec.input_error import InputError
from dfslab.studies.applications import layout_rules, metadata_rules, transfer_rules
from dfslab.studies.applications.cost import IoCost
from dfslab.studies.applications.io_rule import IoRule, IoSaving
from dfslab.studies.decisions.gains import certainty_text, sureness, sureness_words

RULES = (*transfer_rules.RULES, *metadata_rules.RULES, *layout_rules.RULES)
# A change is recommended only if it saves at least this fraction of the I/O time.
WORTH = 0.05
# If I/O takes less than this fraction of the run's duration, I/O is not the reason for the
# duration.
SMALL_PART = 0.1
# The quantiles at the two ends of a 90 % interval.
INTERVAL = (0.05, 0.95)
WORDS = sureness_words(f"the change saves more than {WORTH:.0%} of the I/O time")
SCOPE = (
    "Savings are of the slowest process's I/O time, for each change alone; savings of several "
    "changes do not add up."
)


class IoChange(BaseModel):
    """A recommended change of an application's I/O. Times are those of the slowest process, in
    seconds.

    - rule: name of the rule.
    - change: what to do.
    - evidence: the counters that show that the change is needed.
    - reason: why the change saves time.
    - source: where this reason is described.
    - saved_s: expected saving; saved_s_low, saved_s_high: its 90 % interval.
    - probability: the probability that the saving exceeds the fraction WORTH of the I/O time.
    """

    rule: str
    change: str
    evidence: str
    reason: str
    source: str
    saved_s: float
    saved_s_low: float
    saved_s_high: float
    probability: float

    @property
    def sureness(self) -> Sureness:
        """The certainty that the change is worth making, as a word."""
        return sureness(self.probability)


class IoAdvice(BaseModel):
    """The advice from one log.

    program: the application. io_s: I/O time of its slowest process in seconds. run_s: duration of
    the run in seconds; 0 if unknown. changes: recommended changes, the largest saving first.
    not_worth: changes that save less than the fraction WORTH of the I/O time, each with the reason.
    notes: what the log does not say.
    """

    program: str
    processes: int
    io_s: float
    run_s: float
    changes: list[IoChange]
    not_worth: list[str]
    notes: list[str]

    def sentences(self) -> list[str]:
        """Returns the advice in a few sentences. They state the first change and its saving, the
        fraction of the run's duration that I/O takes (if the duration is known), and what is not
        worth changing."""
        found = [self._first()]
        if self.run_s > 0:
            share = self.io_s / self.run_s
            found.append(
                f"I/O of the slowest process takes {_time(self.io_s)} of the run's "
                f"{_time(self.run_s)} ({share:.0%})."
            )
            if share < SMALL_PART:
                found.append("No change of I/O can shorten the run by more than that.")
        if self.not_worth:
            found.append(f"Not worth changing: {'; '.join(self.not_worth)}.")
        return found

    def _first(self) -> str:
        if not self.changes:
            return (
                f"No change is predicted to save more than {WORTH:.0%} of the I/O time of "
                f"{_time(self.io_s)}."
            )
        one = self.changes[0]
        order = "Perhaps first" if one.sureness is Sureness.UNDECIDED else "First"
        return (
            f"{order}: {one.change}. It saves about {_time(one.saved_s)} of the {_time(self.io_s)} "
            f"of I/O (90 %: {_time(one.saved_s_low)} to {_time(one.saved_s_high)}), "
            f"{certainty_text(one.sureness)}. Why: {one.evidence}. {one.reason}"
        )

    def table(self) -> Table:
        """Returns a table with one row for each recommended change."""
        columns = [Column("change", "left"), Column("saves (90 %)"), Column("certainty", "left")]
        columns.append(Column("evidence", "left"))
        rows = [
            (
                words(f"{one.change}\n[{one.rule}]"),
                TableCell(
                    one.saved_s,
                    f"{_time(one.saved_s)} ({_time(one.saved_s_low)} to {_time(one.saved_s_high)})",
                    low=one.saved_s_low,
                    high=one.saved_s_high,
                ),
                words(one.sureness),
                words(one.evidence),
            )
            for one in self.changes
        ]
        notes = [WORDS, SCOPE, *self.notes]
        return Table(f"What to change first in {_time(self.io_s)} of I/O", columns, rows, notes)


def _time(time_s: float) -> str:
    return f"{time_s:,.0f} s" if abs(time_s) >= 100 else units.text(time_s, "s", 3)


def advise(counters: IoCounters) -> IoAdvice:
    """Returns the advice from the counters of a log. Raises InputError if the I/O of a process
    lasts longer than the whole run."""
    cost = IoCost(counters)
    # Darshan stores the run's time in whole seconds, so a difference below 1 s is no contradiction.
    if 0 < counters.run_time_s < cost.time_s - 1:
        reason = (
            f"is longer than the run of {counters.run_time_s:g} s; the log contradicts itself (a "
            "clock, a unit, or counters that are summed over processes)"
        )
        raise InputError("I/O time of the slowest process", f"{cost.time_s:.4g} s", reason)
    changes, not_worth = [], []
    for rule in RULES if cost.time_s > 0 else ():
        found = rule.judge(cost)
        if isinstance(found, str):
            not_worth.append(found)
        elif found is not None:
            change = _change(rule, found, cost)
            if change.saved_s >= WORTH * cost.time_s:
                changes.append(change)
            else:
                shown = max(0.0, change.saved_s / cost.time_s)
                not_worth.append(f"{found.change}: saves {shown:.1%} of the I/O time")
    changes.sort(key=lambda one: -one.saved_s)
    return IoAdvice(
        program=counters.program,
        processes=counters.processes,
        io_s=counters.slowest_rank_s,
        run_s=counters.run_time_s,
        changes=changes,
        not_worth=not_worth,
        notes=list(_notes(counters)),
    )


def _change(rule: IoRule, found: IoSaving, cost: IoCost) -> IoChange:
    """Returns a change with its expected saving and the 90 % interval. The interval includes the
    run-to-run variation, because the saving is a difference between two runs."""
    after_s = np.clip(found.after_s, 0.0, cost.time_s)
    saved_s = cost.time_s - after_s * cost.repeat
    low_s, high_s = (float(one) for one in np.quantile(saved_s, INTERVAL))
    return IoChange(
        rule=rule.name,
        change=found.change,
        evidence=found.evidence,
        reason=rule.reason,
        source=rule.source,
        saved_s=float(np.mean(cost.time_s - after_s)),
        saved_s_low=low_s,
        saved_s_high=high_s,
        probability=float(np.mean(saved_s > WORTH * cost.time_s)),
    )


def _notes(counters: IoCounters) -> Iterator[str]:
    """Yields sentences: what the log does not record, and what the advice assumes instead."""
    if not counters.is_slowest_known:
        yield (
            "The log has only sums: the mean over the processes stands for the slowest process. "
            "`darshan-parser FILE` without --total prints more."
        )
    if not counters.stripe_count:
        yield "The log has no layout on storage targets: one target for each file is assumed."
    if counters.heaviest_rank_bytes is None and counters.processes > 1:
        yield "How evenly the processes share the work is not in the log."
    if counters.other_bytes > counters.size_bytes:
        shown = transfer_rules.size(counters.other_bytes)
        yield f"{shown} went through stdio, whose single calls the log does not count."
