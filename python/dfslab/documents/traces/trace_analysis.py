"""A trace profile together with what studies compute from it: parts, comparisons, a model."""

from __future__ import annotations

from typing import Any

from pydantic import field_serializer

from dfslab.documents.document import Document
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import TraceProfile


def given(profile: TraceProfile) -> dict[str, Any]:
    """The fields of a profile that were set, as arguments of an extended profile."""
    return {name: value for name, value in profile if name in profile.model_fields_set}


class PartGain(Document):
    """What a faster processor, disk or link would save, as fractions of end-to-end time."""

    # "process: processor", "process: disk" or "process: link"; of a sleep "process: step".
    part: str
    saving: float
    # Bounds that the sums of the trace allow.
    least: float
    most: float
    # The 90 % prediction interval for other runs.
    low: float
    high: float
    # "faster", "no gain" or "cannot tell", judged by the bounds.
    verdict: str
    # Busy time over the life of the process; above 1 with several threads; None for links.
    utilisation: float | None


class PartShare(Document):
    """The share of one part in a ranking of self time."""

    part: str
    share: float


class PartRanking(Document):
    """Processors, disks and links by what each would save, and two other rankings of them."""

    # How many times faster each part is made.
    factor: float
    # Sum of the durations of the clients' outermost calls, seconds.
    end_to_end_s: float
    parts: list[PartGain]
    # By self time of all work that operations cause.
    by_sum: list[PartShare]
    # By self time of the threads that finish last (the usual critical path).
    by_last_finisher: list[PartShare]


class StepChange(Document):
    """A step whose mean duration differs significantly between two cohorts of calls."""

    # The host or process of the second cohort, where several are compared; else "".
    cohort: str
    # The call path, or "process: step" where all its calling contexts are merged.
    path: CallPath
    # Calls in the first and in the second cohort, and their mean durations, seconds.
    count_before: int
    count: int
    mean_before_s: float
    mean_s: float
    # Change of self time per call times the calls of the second cohort, seconds.
    own_change_s: float
    # Relative change of the mean duration.
    change: float
    # P value of Welch's t test, and after Holm's correction for all steps tested.
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
    # Significant changes, the largest effect on total time first.
    rows: list[StepChange]
    # Steps in one cohort only.
    only_before: list[CallPath]
    only_now: list[CallPath]


class ModelledStep(Document):
    """Mean seconds that one operation spends in a step, as described and as traced.

    A side without the step has None.
    """

    # Operation and step of the description; "" for a step that only the trace has.
    operation: str
    step: str
    modelled_s: float | None
    # Where the trace has the step; its mean, and its number of calls.
    traced: CallPath | None
    traced_s: float | None
    count: int
    # Modelled / traced - 1.
    error: float | None

    @field_serializer("traced")
    def _printed(self, traced: CallPath | None) -> str:
        return str(traced or "")


class TraceAnalysis(TraceProfile):
    """A trace profile with the results of studies of it; None where a study was not run."""

    parts: PartRanking | None = None
    compared: CohortComparison | None = None
    # None where the trace is not compared with a model.
    modelled: list[ModelledStep] | None = None

    @classmethod
    def of(cls, profile: TraceProfile) -> TraceAnalysis:
        """A profile to which no study was applied yet, or the analysis that it already is."""
        return profile if isinstance(profile, TraceAnalysis) else cls(**given(profile))


class Received(Document):
    """Messages that a receiver took, their bytes, and messages that it refused."""

    messages: int
    bytes: int
    refused: int


class ReceivedProfile(TraceProfile):
    """The profile of a stream of spans, which may go on."""

    # Spans buffered until their traces are complete; unknown once the stream has ended.
    waiting: int | None = None
    received: Received
    ended: bool
