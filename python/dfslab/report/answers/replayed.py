"""The report of a replay of recorded calls: which calls were repeated, and how long they took in
the recording and in the replay."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from pydantic import JsonValue

from dfslab.documents.metrics import LATENCY, key
from dfslab.documents.table import (
    Paragraph,
    Table,
    absent,
    count,
    heads,
    number_text,
    quantity,
    words,
)
from dfslab.imports.survey import TraceSurvey
from dfslab.result import Result
from dfslab.spec import units
from dfslab.studies.checks.noise import TOO_NOISY, pooled_sd
from dfslab.studies.checks.thresholds import OTHERS
from dfslab.studies.decisions.doubts import others_share

# Two times t1 and t2 count as equal if |t1 / t2 - 1| is at most this fraction. The value is a
# choice: on a quiet machine, the times of two repetitions of one program may differ by this
# fraction.
SAME = 0.05
# If repetitions are noisy, a replay is still called faster or slower than the recording if the
# logarithms of both times differ by more than this number of standard deviations between
# repetitions. The number is a choice: with two repetitions, a smaller difference may be noise.
FAR_SDS = 6.0
# Number of names of calls in one row of the narrow table of calls. If there are more names, the row
# states how many.
MOST_NAMES = 3
NOT_CALLED = "create"


@dataclass(frozen=True)
class OperationTimes:
    """The times of one kind of operation in seconds per call.

    - `calls`: number of calls of the trace with a known duration. If no duration is known, number
      of calls that should be replayed.
    - `recorded_s_mean`: mean duration of the calls in the recording; None if no duration is known.
    - `replayed_s_mean`: mean duration in the replay.
    - `replayed_s`: mean duration in each repetition of the replay.
    """

    operation: str
    calls: int
    recorded_s_mean: float | None
    replayed_s_mean: float
    replayed_s: tuple[float, ...]

    @property
    def recorded_s(self) -> float:
        """Time in the recording of all calls with a known duration, in seconds; 0 if no duration is
        known."""
        return (self.recorded_s_mean or 0.0) * self.calls


@dataclass(frozen=True)
class ReplayReport:
    """The result of a replay.

    `done` is the number of operations that a repetition completed, as a mean over the repetitions.
    `planned` is the number of operations that a repetition should execute. `errors` is the number
    of errors in all repetitions together. `others_share`: median fraction of the processors' time
    that other programs used during the replay; 0 if it is unknown.
    """

    survey: TraceSurvey
    times: Sequence[OperationTimes]
    repetitions: int
    done: float
    planned: int
    cache: str
    errors: int = 0
    others_share: float = 0.0

    def tables(self, is_wide: bool = False) -> list[Table]:
        """Returns the tables for a terminal: the recorded calls by name, and the times by
        operation. `is_wide`: show the names of all calls, not only of the most frequent ones."""
        most = len(self.survey.left_out) + len(self.survey.taken) if is_wide else MOST_NAMES
        return [self._calls(most), self._times()]

    def _calls(self, most: int) -> Table:
        taken = words(_most_common(self.survey.taken, most))
        rows = [[taken, words("replayed"), count(self.survey.taken.total())]]
        by_reason: dict[str, Counter[str]] = {}
        for (name, reason), number in self.survey.left_out.items():
            by_reason.setdefault(reason, Counter())[name] += number
        for reason, names in sorted(by_reason.items(), key=lambda one: -one[1].total()):
            rows.append([words(_most_common(names, most)), words(reason), count(names.total())])
        return Table("Recorded calls", heads("calls", "outcome", "number", left=("outcome",)), rows)

    def _times(self) -> Table:
        rows = []
        for one in self.times:
            known = one.recorded_s_mean
            rows.append(
                [
                    words(self._label(one.operation)),
                    count(one.calls),
                    absent() if known is None else quantity(known, "s"),
                    quantity(one.replayed_s_mean, "s"),
                    words(_times_as_long(one.replayed_s_mean, known)),
                ]
            )
        title = "Mean time of a call"
        return Table(title, heads("operation", "calls", "recorded", "here", "here/recorded"), rows)

    def _label(self, operation: str) -> str:
        """Returns the name of an operation. If the calls of the operation have other names in the
        trace, these names follow."""
        names = self.survey.names.get(operation, Counter[str]())
        others = [name for name, _ in names.most_common(MOST_NAMES) if name != operation]
        return f"{operation} ({', '.join(others)})" if others else operation

    def totals_s(self) -> tuple[float, list[float]] | None:
        """Returns (time in the recording, times in each repetition of the replay), in seconds. A
        time is the sum over all calls with a known duration in the recording. Returns None if no
        such duration is known."""
        known = [one for one in self.times if one.recorded_s_mean is not None]
        if not known:
            return None
        each = [
            sum(one.replayed_s[turn] * one.calls for one in known)
            for turn in range(self.repetitions)
        ]
        return sum(one.recorded_s for one in known), each

    def sentences(self, directory: str) -> list[Paragraph]:
        """Returns one to four sentences: what was replayed, how its times compare with the
        recorded times, which other load there was, and under which conditions this comparison
        holds."""
        found = [self._what(directory), self._compared(), self._meanwhile(), self._conditions()]
        return [Paragraph(one) for one in found if one]

    def _what(self, directory: str) -> str:
        taken = self.survey.taken.total()
        total = taken + self.survey.left_out.total()
        where = f" on files in {self.survey.root}" if self.survey.root != "/" else ""
        guess = " (a guess; --root sets the folder)" if self.survey.is_root_guessed else ""
        text = f"Replayed {taken:,} of {total:,} calls, those{where}{guess}, in {directory}"
        if not where:
            text = f"Replayed {taken:,} of {total:,} calls in {directory}"
        clients = self.survey.clients
        text += f" by {clients} client{'s' if clients > 1 else ''}, {_turns(self.repetitions)}."
        if self.done < self.planned:
            share = self.done / self.planned
            text += f" Only {share:.0%} of the operations were completed: {self._shortfall()}."
        return text

    def _shortfall(self) -> str:
        """Returns why operations are missing: errors, the time limit, or both. The time limit is a
        reason if all repetitions together have fewer errors than missing operations."""
        reasons = []
        if self.errors:
            plural = "s" if self.errors > 1 else ""
            reasons.append(f"{self.errors:,} error{plural}, see the notes of the run")
        if self.errors < (self.planned - self.done) * self.repetitions:
            reasons.append("the time limit ended the replay, see --time")
        return "; ".join(reasons)

    def _compared(self) -> str:
        totals = self.totals_s()
        if totals is None:
            return (
                "The recording has no durations, so the times of the replay cannot be compared "
                "with recorded times (strace -T records durations)."
            )
        recorded_s, each_s = totals
        here_s = float(np.mean(each_s))
        noise = _noise(each_s)
        shown = units.text(here_s, "s", 3)
        then = units.text(recorded_s, "s", 3)
        text = f"These calls took {then} in the recording and take {shown} here: "
        if noise is not None and noise > TOO_NOISY:
            found = "inconclusive"
            if _is_far(here_s, recorded_s, noise):
                way = "slower" if here_s > recorded_s else "faster"
                found = f"{way}, but by which factor is inconclusive"
            return text + (
                f"{found}, because repetitions differ by {noise:.0%}; repeat when `dfslab "
                "doctor` calls this machine quiet, with --repetitions 10."
            )
        text += f"{_in_words(here_s, recorded_s)}{self._most_of(here_s - recorded_s)}."
        if noise is None:
            return f"{text} Nothing was repeated, so the noise is not known."
        return f"{text} Repetitions differ by {noise:.0%}."

    def _most_of(self, difference_s: float) -> str:
        """Returns the end of the sentence that compares the times. It names the operation that
        causes at least half of the difference. Returns "" if there is no such operation, or if only
        one operation is compared."""
        gaps = [
            ((one.replayed_s_mean - one.recorded_s_mean) * one.calls, self._label(one.operation))
            for one in self.times
            if one.recorded_s_mean is not None
        ]
        gap_s, name = max(gaps, key=lambda one: one[0] * np.sign(difference_s))
        share = gap_s / difference_s if difference_s else 0.0
        return f", mostly by {name} calls" if len(gaps) > 1 and share >= 0.5 else ""

    def _meanwhile(self) -> str:
        """Returns a sentence on other programs that ran during the replay; "" if they used little
        processor time, or if no times are compared."""
        if self.others_share <= OTHERS or self.totals_s() is None:
            return ""
        return (
            f"Meanwhile other programs used {self.others_share:.0%} of this machine's processors, "
            "so part of the difference may be theirs; repeat when `dfslab doctor` calls it quiet."
        )

    def _conditions(self) -> str:
        held = []
        if self.survey.form == "strace":
            held.append("recorded times include the time that strace adds to each call")
        names = {one.operation for one in self.times}
        if self.cache == "warm" and names & {"pread", "read"}:
            held.append("reads here may come from this machine's memory (--cold reads from disk)")
        if names & {"pwrite", "write"}:
            held.append("writes here may end in this machine's memory until fsync is called")
        return f"{'; '.join(held)[:1].upper()}{'; '.join(held)[1:]}." if held else ""

    def document(self, folder: str) -> dict[str, JsonValue]:
        """Returns the report as a JSON document. Times are in seconds, sizes in bytes."""
        totals = self.totals_s()
        return {
            "folder": folder,
            "form": self.survey.form,
            "root": self.survey.root,
            "root_is_guessed": self.survey.is_root_guessed,
            "clients": self.survey.clients,
            "size_bytes": self.survey.size_bytes,
            "taken": dict(self.survey.taken),
            "left_out": [
                {"call": name, "reason": reason, "calls": number}
                for (name, reason), number in self.survey.left_out.items()
            ],
            "operations": [
                {**asdict(one), "replayed_s": list(one.replayed_s)} for one in self.times
            ],
            "recorded_s": totals[0] if totals else None,
            "replayed_s": [*totals[1]] if totals else None,
            "others_share": self.others_share,
            "done_share": self.done / self.planned,
            "answer": [one.text for one in self.sentences("the directory")],
        }


def report(survey: TraceSurvey, results: Sequence[Result]) -> ReplayReport:
    """Compares the measured results of a replay (one for each repetition) with its trace."""
    planned = Counter[str](one.operation for one in survey.replay.given)
    times = [one for name in planned if (one := _operation(name, planned, survey, results))]
    times.sort(key=lambda one: -one.replayed_s_mean * one.calls)
    done = [_done(result, name) for result in results for name in planned]
    return ReplayReport(
        survey,
        times,
        len(results),
        sum(done) / len(results),
        planned.total(),
        results[0].point.scenario.workload.cache,
        sum(one.count for result in results if result.load for one in result.load.errors),
        others_share(results) or 0.0,
    )


def _operation(
    name: str, planned: Counter[str], survey: TraceSurvey, results: Sequence[Result]
) -> OperationTimes | None:
    """Returns the times of one kind of operation; None if a repetition completed no operation of
    this kind.

    A recorded call that opens and creates a file becomes two operations in the replay, "open" and
    "create". The times of both are added and returned for "open". For "create", None is returned.
    """
    durations = [
        one
        for given, one in zip(survey.replay.given, survey.replay.durations_s, strict=False)
        if given.operation == name and one is not None
    ]
    # A recorded call that creates and opens a file becomes two operations in the replay. Their
    # times are added.
    joined = bool(survey.replay.durations_s) and planned["open"] > 0
    if name == NOT_CALLED and joined:
        return None
    parts = [name, NOT_CALLED] if name == "open" and joined else [name]
    if any(not _done(result, name) for result in results):
        return None
    each = tuple(
        sum(_mean_s(result, part) * _done(result, part) for part in parts) / _done(result, name)
        for result in results
    )
    known = float(np.mean(durations)) if durations else None
    calls = len(durations) or planned[name]
    return OperationTimes(name, calls, known, float(np.mean(each)), each)


def _done(result: Result, operation: str) -> int:
    """Returns the number of operations of one kind that a repetition completed."""
    counted = result.load.operations.get(operation) if result.load else None
    return counted.count if counted else 0


def _mean_s(result: Result, operation: str) -> float:
    found = result.metrics.get(key(LATENCY, "mean", operation))
    return found.value if found else 0.0


def _times_as_long(here_s: float, recorded_s: float | None) -> str:
    return f"× {number_text(here_s / recorded_s)}" if recorded_s else "–"


def _in_words(here_s: float, recorded_s: float) -> str:
    """Returns the ratio of a replayed time to a recorded time in words; "no comparison" if one of
    the times is 0."""
    if not recorded_s or not here_s:
        return "no comparison"
    ratio = here_s / recorded_s
    if abs(ratio - 1) <= SAME:
        return f"the same within {SAME:.0%}"
    return f"{number_text(max(ratio, 1 / ratio))} times as {'slow' if ratio > 1 else 'fast'}"


def _is_far(here_s: float, recorded_s: float, noise: float) -> bool:
    """Returns whether a replayed time differs from the recorded time by far more than repetitions
    differ from each other. `noise`: as `_noise` returns it."""
    if not recorded_s or not here_s:
        return False
    return abs(math.log(here_s / recorded_s)) > FAR_SDS * math.log1p(noise)


def _turns(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _most_common(names: Counter[str], most: int) -> str:
    """Returns the `most` most frequent names of calls with the number of their calls, as text."""
    shown = [f"{name} {number:,}" for name, number in names.most_common(most)]
    others = len(names) - len(shown)
    return ", ".join(shown) + (f", {others} more" if others > 0 else "")


def _noise(times_s: Sequence[float]) -> float | None:
    """Returns the relative standard deviation between the times of repetitions; None if there is
    only one time, or if a time is 0."""
    known = pooled_sd([times_s]) if min(times_s, default=0) > 0 else None
    return None if known is None else math.expm1(known[0])
