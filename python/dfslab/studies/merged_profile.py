"""The study `trace`: one profile of all traces of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from dfslab.documents.traces.trace_analysis import TraceAnalysis
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import call_document, callprofile, whole_calls
from dfslab.instruments.tracing.callprofile import File
from dfslab.studies import bottlenecks
from dfslab.studies.contract import FinishedRun, Progress, Study, StudyResult
from dfslab.studies.runs.stages import Stage
from dfslab.studies.traces import gain, parts

NAMES = ("trace",)


class Traced(StudyResult):
    """The call trees, ranked steps and losses of all traces of a run."""

    study = "trace"
    is_worth_a_page = False
    is_printed_by_run = False

    profile: TraceAnalysis

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """An empty document, because `dfslab trace report` prints the profile."""
        return {}


class TraceStudy(Study[Traced]):
    """Profiles the call profiles of traced programs, or, if there are none, the recorded spans."""

    name = "trace"
    result = Traced
    order = 75
    stage: Stage = "loading"

    def run(self, run: FinishedRun, progress: Progress) -> Traced | None:
        """The profile; None if nothing was traced."""
        if files := bottlenecks.profiles(run.settled, run.traces):
            read = [(str(path), callprofile.read(path)) for path in files]
            return Traced(profile=of_programs(read, files))
        if spans := sorted(run.traces.glob("*.otlp")):
            return Traced(profile=TraceAnalysis.of(tracing.profile(spans)))
        return None


def make(name: str) -> TraceStudy:
    """The study `trace`, for discovery."""
    return TraceStudy()


def of_programs(read: Sequence[tuple[str, File]], files: Sequence[Path]) -> TraceAnalysis:
    """One analysed profile of traced JVMs; `read` holds (file name, content) of the `files`."""
    top = callprofile.merge(read)
    merged = TraceAnalysis.of(call_document.document(read, top))
    if all(file.counted for _, file in read):
        # Server counters record no happens-before order, so savings are not ranked.
        return merged
    ran = parts.processors(file for _, file in read)
    return merged.model_copy(
        update={
            "savings": gain.savings(top),
            "parts": parts.ranking(top, ran),
            "timelines": whole_calls.whole_calls(whole_calls.exemplar_files(files)),
        }
    )
