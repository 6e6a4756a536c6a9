"""Determines how much of an interrupted run is kept, and how the run is resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dfslab import discover
from dfslab.instruments.contract import RunMethod, run_method
from dfslab.notify import Notify, silent
from dfslab.spec.scenario import Scenario, read
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.runs.records import stored_results
from dfslab.studies.runs.store import Store
from dfslab.studies.runs.sweep import counts
from dfslab.studies.runs.unfinished import Unfinished, resuming_command


def kept(scenario: Scenario, methods: Sequence[RunMethod], store: Store) -> Unfinished | None:
    """Returns how many measurements an unfinished run has and how to resume it. Returns None if no
    measurement is missing."""
    planned, missing = counts(scenario, methods, store)
    if not missing:
        return None
    command = resuming_command(store.folder, list(scenario.run.methods))
    return Unfinished(done=planned - missing, planned=planned, command=command)


@contextmanager
def reported(
    scenario: Scenario, methods: Sequence[RunMethod], store: Store, notify: Notify
) -> Iterator[None]:
    """A context for the measurements of a run. If the user interrupts the measurements, `notify`
    receives the sentence on the unfinished run."""
    try:
        yield
    except KeyboardInterrupt:
        if (found := kept(scenario, methods, store)) is not None:
            notify(found.sentence)
        raise


def unfinished_in(folder: Path) -> Unfinished | None:
    """Returns what is known of the unfinished run in `folder`. Returns None if the run is complete
    or if `folder` is no run folder."""
    path = folder / "scenario.toml"
    if (folder / stored_results.COMPLETE).exists() or not path.is_file():
        return None
    return _of(read(path), folder)


def reopened(folder: Path, findings: Findings | None, notify: Notify = silent) -> FinishedRun:
    """Returns the run in a run folder. If the run is unfinished, the field `unfinished` of the
    result is set, and `notify` receives the sentence on the unfinished run. `findings`: the stored
    findings of the run's studies; None if there are none."""
    run = FinishedRun(read(folder / "scenario.toml"), findings=findings, folder=folder)
    if not (folder / stored_results.COMPLETE).exists():
        run.unfinished = _of(run.scenario, folder)
    if run.unfinished is not None:
        notify(run.unfinished.sentence)
    return run


def _of(scenario: Scenario, folder: Path) -> Unfinished | None:
    methods = [run_method(discover.method(name)) for name in scenario.run.methods]
    return kept(scenario, methods, Store(folder))
