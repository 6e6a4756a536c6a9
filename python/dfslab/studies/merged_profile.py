"""The study `trace`: merges all traces of a run into one profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from dfslab.documents.traces.trace_analysis import TraceAnalysis
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import call_document, callprofile, exemplar_traces
from dfslab.instruments.tracing.callprofile import File
from dfslab.studies import bottlenecks
from dfslab.studies.contract import FinishedRun, Progress, Study, StudyResult
from dfslab.studies.runs.stages import Stage
from dfslab.studies.traces import gain, parts
from dfslab.studies.traces.processors import on_one_host, processors

NAMES = ("trace",)


class Traced(StudyResult):
    """The analysis of all traces of a run, which are merged into one profile. The profile has the
    call trees, the ranked steps, and the data that the tracer lost. Steps are ranked by the time
    that would be saved if the step were faster."""

    study = "trace"
    is_worth_a_page = False
    is_printed_by_run = False

    profile: TraceAnalysis

    def document(self, run: FinishedRun) -> dict[str, JsonValue]:
        """Returns an empty document: the JSON of `dfslab run` leaves the profile out, because
        `dfslab trace report` prints it."""
        return {}


class TraceStudy(Study[Traced]):
    """Merges the call profiles of traced programs. If there are none, merges the recorded spans."""

    name = "trace"
    result = Traced
    order = 75
    stage: Stage = "loading"

    def run(self, run: FinishedRun, progress: Progress) -> Traced | None:
        """The merged profile; None if nothing was traced."""
        if files := bottlenecks.profiles(run.settled, run.traces):
            read = [(str(path), callprofile.read(path)) for path in files]
            return Traced(profile=of_programs(read, files))
        if spans := sorted(run.traces.glob("*.otlp")):
            return Traced(profile=TraceAnalysis.of(tracing.profile(spans)))
        return None


def make(name: str) -> TraceStudy:
    """Returns the study `trace`; study discovery calls this function with the study's name."""
    return TraceStudy()


def of_programs(read: Sequence[tuple[str, File]], files: Sequence[Path]) -> TraceAnalysis:
    """Returns the analysed profile of traced JVMs (Java programs).

    `read`: (file name, content) of each call profile. `files`: the paths of these call profiles.
    """
    top = callprofile.merge(read)
    merged = TraceAnalysis.of(call_document.document(read, top))
    if all(file.counted for _, file in read):
        # If all files are counters of servers, savings are not ranked, because counters record no
        # happens-before order.
        return merged
    profiled = [file for _, file in read]
    ran, one_host = processors(profiled), on_one_host(profiled)
    return merged.model_copy(
        update={
            "savings": gain.savings(top),
            "parts": parts.ranking(top, ran, one_host=one_host),
            "timelines": exemplar_traces.timelines(exemplar_traces.exemplar_files(files)),
        }
    )
