"""A trace profile together with what studies compute from it: parts, comparisons, a model."""

from __future__ import annotations

from typing import Any

from pydantic import field_serializer

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import TraceProfile


def given(profile: TraceProfile) -> dict[str, Any]:
    """Returns the fields of a profile that were set, as arguments of an extended profile."""
    return {name: value for name, value in profile if name in profile.model_fields_set}


class PartGain(Document):
    """What a faster processor, disk or link would save, as fractions of end-to-end time."""

    # "process: processor", "process: disk" or "process: link"; for a sleep "process: step".
    part: str
    saving: float
    # Lower bound of the saving, from the sums of the trace; `most` is the upper bound.
    least: float
    most: float
    # Lower end of the 90 % prediction interval for other runs; `high` is the upper end.
    low: float
    high: float
    # "faster", "no gain" or "cannot tell", according to the bounds.
    verdict: str
    # Busy time over the life of the process; above 1 with several threads; None for links.
    utilisation: float | None


class PartShare(Document):
    """The share of one part in a ranking of self time."""

    part: str
    share: float


class PartRanking(Document):
    """Processors, disks and links by what each would save, and two other rankings of them."""

    # Factor by which each part is made faster.
    factor: float
    # Sum of the durations of the clients' outermost calls, seconds.
    end_to_end_s: float
    parts: list[PartGain]
    # By self time of all work that the operations cause.
    by_sum: list[PartShare]
    # By self time of the threads that finish last (the usual critical path).
    by_last_finisher: list[PartShare]


class StepChange(Document):
    """A step whose mean duration differs significantly between two cohorts of calls."""

    # The host or process of the second cohort, where several are compared; else "".
    cohort: str
    # The call path, or "process: step" where all its calling contexts are merged.
    path: CallPath
    # Numbers of calls in the first and second cohort; the next fields are their mean durations,
    # seconds.
    count_before: int
    count: int
    mean_before_s: float
    mean_s: float
    # Change of self time per call, multiplied by the calls of the second cohort, seconds.
    own_change_s: float
    # Relative change of the mean duration.
    change: float
    # P value of Welch's t test; the next field is corrected by Holm's method for all steps tested.
    p: float
    p_corrected: float


class CohortComparison(Document):
    """Steps of a trace compared between two cohorts of calls, or between several pairs."""

    # Significance level of the corrected P values.
    level: float
    # The names of the two cohorts.
    sides: tuple[str, str]
    # Number of steps tested.
    tests: int
    # Whether several pairs were compared.
    several: bool
    # Relative change of every step, for colours.
    changes: dict[CallPath, float]
    # Significant changes, in descending order of their effect on total time.
    rows: list[StepChange]
    # Steps that occur in one cohort only.
    only_before: list[CallPath]
    only_now: list[CallPath]


class ModelledStep(Document):
    """Mean seconds that one operation spends in a step, as described and as traced.

    The values of a side that lacks the step are None.
    """

    # Operation and step of the description; "" for a step that exists only in the trace.
    operation: str
    step: str
    modelled_s: float | None
    # Path of the step in the trace; its mean duration in seconds and its number of calls follow.
    traced: CallPath | None
    traced_s: float | None
    count: int
    # Relative error: modelled / traced - 1.
    error: float | None

    @field_serializer("traced")
    def _printed(self, traced: CallPath | None) -> str:
        return str(traced or "")


class TraceAnalysis(TraceProfile):
    """A trace profile with the results of studies of it; None where a study was not run."""

    parts: PartRanking | None = None
    compared: CohortComparison | None = None
    # Modelled steps; None if the trace was not compared with a model.
    modelled: list[ModelledStep] | None = None

    @classmethod
    def of(cls, profile: TraceProfile) -> TraceAnalysis:
        """Returns the profile as an analysis without results; an analysis is returned unchanged."""
        return profile if isinstance(profile, TraceAnalysis) else cls(**given(profile))


class Received(Document):
    """Messages that a receiver accepted, their bytes, and the number of messages that it
    refused."""

    messages: int
    bytes: int
    refused: int


class ReceivedProfile(TraceProfile):
    """The profile of a stream of spans, which may continue."""

    # Spans buffered until their traces are complete; unknown once the stream has ended.
    waiting: int | None = None
    received: Received
    ended: bool
