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
        """Nothing: `dfslab trace report` requests it."""
        return {}


class TraceStudy(Study[Traced]):
    """Profiles the programs that were traced, or else the spans that came."""

    name = "trace"
    result = Traced
    order = 75
    stage: Stage = "loading"

    def run(self, run: FinishedRun, progress: Progress) -> Traced | None:
        """The profile; None where nothing was traced."""
        if files := bottlenecks.profiles(run.settled, run.traces):
            read = [(str(path), callprofile.read(path)) for path in files]
            return Traced(profile=of_programs(read, files))
        if spans := sorted(run.traces.glob("*.otlp")):
            return Traced(profile=TraceAnalysis.of(tracing.profile(spans)))
        return None


def make(name: str) -> TraceStudy:
    """The study."""
    return TraceStudy()


def of_programs(read: Sequence[tuple[str, File]], files: Sequence[Path]) -> TraceAnalysis:
    """One profile of what traced JVMs wrote; `read` holds what is in the files."""
    top = callprofile.merge(read)
    merged = TraceAnalysis.of(call_document.document(read, top))
    if all(file.counted for _, file in read):
        # Server counters have no happens-before order, so there is no ranking.
        return merged
    ran = parts.processors(file for _, file in read)
    return merged.model_copy(
        update={
            "savings": gain.savings(top),
            "parts": parts.ranking(top, ran),
            "timelines": whole_calls.whole_calls(whole_calls.exemplar_files(files)),
        }
    )
