"""A trace profile together with the results that dfslab computes from it:
- the time that would be saved by a faster processor, disk or link,
- comparisons of groups of calls,
- a comparison of the steps' durations with those of a model.
"""

from __future__ import annotations

from typing import Any

from pydantic import field_serializer

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import SavingVerdict, TraceProfile


def given(profile: TraceProfile) -> dict[str, Any]:
    """Returns the fields of a profile that were set explicitly. These fields are passed to the
    constructor of a subclass of the profile, which adds further fields."""
    return {name: value for name, value in profile if name in profile.model_fields_set}


class PartGain(Document):
    """The fraction of the end-to-end time that would be saved if one processor, disk, link or sleep
    were faster. The bounds of the saving are also fractions of the end-to-end time."""

    # The part's name: "process: processor", "process: disk" or "process: link", or "process: step"
    # for a sleep.
    part: str
    saving: float
    # Lower bound of the saving, from the sums of the trace; `most` is the upper bound.
    least: float
    most: float
    # Lower end of the 90 % prediction interval of the saving in other runs; `high` is the upper
    # end.
    low: float
    high: float
    # The verdict that follows from the bounds: "faster", "no gain" or "cannot tell".
    verdict: SavingVerdict
    # Busy time divided by the time for which the process ran; None for links. The utilisation can
    # exceed 1 if the process has several threads.
    utilisation: float | None


class PartShare(Document):
    """The self time of one part, as a fraction of the self time of all parts. A part is a
    processor, a disk, a link or a sleep. The self time of a call excludes the time of inner
    calls."""

    part: str
    share: float


class PartRanking(Document):
    """Three rankings of processors, disks and links. `parts` ranks them by the
    end-to-end time that would be saved if they were faster. `by_sum` and `by_last_finisher` rank
    them by self time."""

    # Factor by which each part is made faster.
    factor: float
    # Sum of the durations of the clients' outermost calls, seconds.
    end_to_end_s: float
    parts: list[PartGain]
    # Ranking by the self time of all work that the operations cause, in any thread.
    by_sum: list[PartShare]
    # Ranking by self time on the usual critical path, which follows the threads that finish last.
    by_last_finisher: list[PartShare]


class StepChange(Document):
    """A step whose mean duration differs significantly between two cohorts (groups) of calls."""

    # The host or process whose calls are the second group (cohort) of the comparison, if calls of
    # several hosts or processes are compared with the first group. "" if there is a single
    # comparison.
    cohort: str
    # The step's call path, or "process: step" if all its calling contexts are merged.
    path: CallPath
    # `count_before`, `count`: numbers of calls in the first and in the second cohort.
    # `mean_before_s`, `mean_s`: mean durations of these calls, seconds.
    count_before: int
    count: int
    mean_before_s: float
    mean_s: float
    # Effect of the change in self time on the second cohort, in seconds: (self time per call in the
    # second cohort - self time per call in the first cohort) * calls in the second cohort.
    own_change_s: float
    # Change of the step's mean duration from the first to the second cohort, as a fraction of the
    # first: 0.1 is 10 % longer.
    change: float
    # `p`: P value of Welch's t test. `p_corrected`: P value after Holm's correction for all steps
    # tested.
    p: float
    p_corrected: float


class CohortComparison(Document):
    """A comparison of the steps of a trace between two cohorts (groups) of calls, or between
    several pairs of cohorts.
    """

    # Significance level of the corrected P values.
    level: float
    # The names of the two cohorts.
    sides: tuple[str, str]
    # Number of steps tested.
    tests: int
    # Whether several pairs of cohorts were compared.
    several: bool
    # Relative change of the mean duration of every step, for the colours of a drawing.
    changes: dict[CallPath, float]
    # Significant changes, in descending order of their effect on total time.
    rows: list[StepChange]
    # `only_before`: steps that occur in the first cohort only. `only_now`: steps that occur in the
    # second cohort only.
    only_before: list[CallPath]
    only_now: list[CallPath]


class ModelledStep(Document):
    """The mean time in seconds that an operation spends in one step, from two sources: the model of
    a file system, and a recorded trace.

    The values from a source are None if this source lacks the step.
    """

    # Operation and step of the description. Both are "" for a step that exists only in the trace.
    operation: str
    step: str
    modelled_s: float | None
    # `traced`: path of the step in the trace. `traced_s`: the step's mean duration in the trace,
    # seconds. `count`: number of the step's calls in the trace.
    traced: CallPath | None
    traced_s: float | None
    count: int
    # Relative error of the model: modelled / traced - 1.
    error: float | None

    @field_serializer("traced")
    def _printed(self, traced: CallPath | None) -> str:
        return str(traced or "")


class TraceAnalysis(TraceProfile):
    """A trace profile with the results of studies. A result is None if its study was not run."""

    parts: PartRanking | None = None
    compared: CohortComparison | None = None
    # The times of steps according to a model and in the trace; None if the trace was not compared
    # with a model.
    modelled: list[ModelledStep] | None = None

    @classmethod
    def of(cls, profile: TraceProfile) -> TraceAnalysis:
        """Returns a profile as an analysis without results. An analysis is returned unchanged."""
        return profile if isinstance(profile, TraceAnalysis) else cls(**given(profile))

    def __repr__(self) -> str:
        """Returns the size of the trace in one line, because all fields would fill many screens."""
        sizes = f"{self.spans} spans, {self.trees} call trees, compressed to {self.shapes}"
        return f"TraceAnalysis({sizes}; dfslab.explain summarises it)"

    def __str__(self) -> str:
        return repr(self)


class Received(Document):
    """What a receiver of spans accepted: numbers of messages and bytes. `refused` is the number of
    messages that the receiver refused.
    """

    messages: int
    bytes: int
    refused: int


class ReceivedProfile(TraceProfile):
    """The profile of a stream of spans that a receiver accepts. The stream may continue."""

    # Number of spans that are buffered until their traces are complete; None once the stream has
    # ended.
    waiting: int | None = None
    received: Received
    ended: bool
