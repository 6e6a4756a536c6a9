"""Writes HTML pages of each kind to files. The pages show recorded results, planted results
(computed from a known law) and predictions.

Tests open the pages in a browser; benches/page.py measures their sizes and times.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from dfslab.cli.traces import trace_work
from dfslab.laboratory import Laboratory
from dfslab.models import sequence
from dfslab.report import comparison_page, page
from dfslab.spec.check import checked
from dfslab.spec.files.outputs import Output
from dfslab.spec.scenario import read
from dfslab.spec.systems.choice import NAME_KEY
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.decisions.comparing.paired_runs import compare_runs
from dfslab.studies.decisions.slider_points import slider_points
from dfslab.studies.systems import compared
from dfslab.studies.traces import trace_files

from support import recorded, synthetic
from verification import recordings
from verification.papers.probes import dfsperf_probes

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def of_a_run(folder: Path) -> Path:
    """Writes the page of the recorded run, which was measured, traced and predicted."""
    run = Laboratory().reopen(recorded.copied(folder), lambda _: None)
    return written(folder / "run.html", page.render(run))


def of_predictions(folder: Path) -> Path:
    """Writes the page of a run that has predictions only. The page has sliders. Returns the path
    of the page."""
    scenario = read(SCENARIOS / "pvfs.toml")
    model = sequence.make("sequence")
    run = FinishedRun(scenario, [model.run(point) for point in checked(scenario).points])
    run.findings.add(slider_points(run))
    return written(folder / "predictions.html", page.render(run))


def of_a_trace(folder: Path) -> Path:
    """Writes the page of a trace of reads that the disks of three hosts serve."""
    spans = folder / "spans.json"
    spans.write_text(
        json.dumps(synthetic.spans_of({"node-1": 1, "node-2": 3, "node-3": 1}, seed=8))
    )
    path = folder / "trace.html"
    trace_work.write_trace_page(trace_files.profile([spans]), [spans], Output("--page", path))
    return path


def of_two_runs(folder: Path) -> Path:
    """Writes the page that compares two planted runs, of which the second is twice as fast."""
    before = synthetic.planted(noise=0.02, repetitions=4)
    after = [
        synthetic.measured(one.point, 2 * one.value(), one.repetition)
        for one in synthetic.planted(noise=0.02, seed=6, repetitions=4)
    ]
    found = compare_runs(before, after, ("before", "after"), [])
    return written(folder / "compared.html", comparison_page.render(found))


def of_two_file_systems(folder: Path) -> Path:
    """Writes the page that compares HDFS and GlusterFS by their recorded rates."""
    return _of_recorded_systems(folder / "systems.html", ("hdfs", "glusterfs"))


def of_figures(folder: Path) -> Path:
    """Writes the page of the recorded run that reproduces the figures of the DFS-Perf report. The
    page shows all file systems of this run."""
    return _of_recorded_systems(folder / "figures.html")


def _of_recorded_systems(path: Path, systems: Sequence[str] = ()) -> Path:
    """Writes the page of the recorded run of scenarios/dfs-perf-figures.toml. The page shows the
    file systems `systems`, or all file systems of the run if `systems` is empty."""
    scenario = recordings.scenario(dfsperf_probes.SCENARIO)
    results = [
        one
        for one in dfsperf_probes.recorded_runs()[0].results
        if not systems or one.labels[NAME_KEY] in systems
    ]
    run = FinishedRun(scenario, results)
    run.findings = Findings.of(compared(run.settled))
    return written(path, page.render(run))


def written(path: Path, text: str) -> Path:
    """Writes the text of a page to a file and returns its path."""
    path.write_text(text, encoding="utf-8")
    return path


KINDS: dict[str, Callable[[Path], Path]] = {
    "run": of_a_run,
    "predictions": of_predictions,
    "trace": of_a_trace,
    "two runs": of_two_runs,
    "two file systems": of_two_file_systems,
    "papers' figures": of_figures,
}
