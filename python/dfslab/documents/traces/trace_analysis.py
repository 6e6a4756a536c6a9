"""A trace profile, together with results that dfslab computes from it. These are the gains from a
faster processor, disk or link, comparisons of groups of calls, and a comparison with a model's step
times."""

from __future__ import annotations

from typing import Any

from pydantic import field_serializer

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import SavingVerdict, TraceProfile


def given(profile: TraceProfile) -> dict[str, Any]:
    """Returns the fields of a profile that were set explicitly. They serve as arguments for the
    constructor of a class that extends the profile.
    """
    return {name: value for name, value in profile if name in profile.model_fields_set}


class PartGain(Document):
    """The part of the end-to-end time that would be saved if one processor, disk, link or sleep
    were faster. The saving and its bounds are fractions of the end-to-end time.
    """

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
    # Busy time divided by the time for which the process ran. It exceeds 1 with several threads,
    # and is None for links.
    utilisation: float | None


class PartShare(Document):
    """The self time of one part (a processor, a disk, a link or a sleep) as a share of the self
    time of all parts. Self time excludes the time of inner calls.
    """

    part: str
    share: float


class PartRanking(Document):
    """Three rankings of processors, disks and links. `parts` ranks them by the saved end-to-end
    time if they were faster. `by_sum` and `by_last_finisher` rank them by self time."""

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

    # If several pairs of cohorts are compared: the host or process whose calls are the second
    # cohort of the pair. "" if there is a single pair.
    cohort: str
    # The step's call path, or "process: step" if all its calling contexts are merged.
    path: CallPath
    # `count_before`, `count`: numbers of calls in the first and in the second cohort.
    # `mean_before_s` and the next field: mean durations in the two cohorts, seconds.
    count_before: int
    count: int
    mean_before_s: float
    mean_s: float
    # Change of the step's self time from the first to the second cohort, in seconds: the difference
    # of the self time per call, times the number of calls in the second cohort.
    own_change_s: float
    # Relative change of the step's mean duration.
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
    """Mean seconds that one operation spends in a step: as modelled from the description of a file
    system, and as recorded in a trace.

    If the description or the trace lacks the step, the values from that source are None.
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


class Received(Document):
    """What a receiver of spans accepted: numbers of messages and bytes. `refused` is the number of
    messages that it refused.
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
