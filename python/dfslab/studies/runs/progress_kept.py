"""States how much of an interrupted run is kept, and how the run is resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dfslab import discover
from dfslab.instruments.contract import RunMethod, run_method
from dfslab.notify import Notify
from dfslab.spec.scenario import Scenario
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs.records import stored_results
from dfslab.studies.runs.store import Store
from dfslab.studies.runs.sweep import counts


def kept(scenario: Scenario, methods: Sequence[RunMethod], store: Store) -> str:
    """Returns a sentence with the number of measurements that an unfinished run has, and how to
    resume it. Returns "" if no measurement is missing."""
    count, missing = counts(scenario, methods, store)
    if not missing:
        return ""
    done = f"{count - missing} of {count} measurements are done"
    return f"unfinished run {store.folder}: {done}; the command that began it resumes it"


@contextmanager
def reported(
    scenario: Scenario, methods: Sequence[RunMethod], store: Store, notify: Notify
) -> Iterator[None]:
    """A context for the measurements of a run. If the user interrupts them, `notify` receives the
    sentence of `kept`."""
    try:
        yield
    except KeyboardInterrupt:
        notify(kept(scenario, methods, store))
        raise


def unfinished(run: FinishedRun) -> list[str]:
    """Returns a note if a stored run lacks measurements because it was interrupted; else an empty
    list."""
    if (run.folder / stored_results.COMPLETE).exists():
        return []
    methods = [run_method(discover.method(name)) for name in run.scenario.run.methods]
    stated = kept(run.scenario, methods, Store(run.folder))
    return [stated] if stated else []
