"""Warms up a fresh testbed, so that its first run behaves like later runs."""

from __future__ import annotations

import uuid

from dfslab import discover
from dfslab.fleet import run as fleet
from dfslab.fleet.shards import LoadFailed, ProgressReport
from dfslab.instruments import access
from dfslab.method import RunFailed
from dfslab.spec.scenario import Point
from dfslab.spec.streams.plan import LoadPlan
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.streams.target import FileTarget
from dfslab.spec.streams.vocabulary import OperationName, Share, Stream
from dfslab.spec.streams.workload import fixed
from dfslab.testbeds.capabilities import WarmUp

WARM_UP_MIX: dict[OperationName, float] = {
    "read": 4,
    "write": 2,
    "create": 3,
    "stat": 6,
    "list": 1,
    "rename": 2,
    "delete": 1,
}
WARM_UP_OPERATIONS = 400
# A JVM compiles a method with full optimisation after some ten thousand calls of the method, so the
# warm-up makes more calls than that.
WARM_UP_CALLS = 16_000
WARM_UP_CLIENTS = 8
WARM_UP_SMALL_BYTES = 64 << 10


def warm_up_once(
    point: Point,
    target: FileTarget,
    session: access.InstrumentSession,
    progress: ProgressReport | None,
) -> None:
    """Warms up the session's testbed by a run of the load generator against `target`. Does nothing
    if a warm-up was tried before, even if it failed.

    Limits of the hosts' processor shares are lifted during the warm-up. Raises RunFailed if the
    load generator fails.
    """
    if session.is_warm:
        return
    session.mark_warm()
    with session.whole_processors():
        warm_up(point, target, session, progress)


def warm_up(
    point: Point,
    target: FileTarget,
    session: access.InstrumentSession,
    progress: ProgressReport | None,
) -> None:
    """Runs the warm-up of a fresh testbed and discards its results. Raises RunFailed if the load
    generator fails.

    By default, the testbed states the file size and the duration of the warm-up. If the scenario
    sets the duration, the warm-up instead runs many operations on small files, because JIT
    compilation of a method begins only after many calls.

    Studies that vary processor shares also run the configuration's own operations, because
    compilation takes many times as long under a processor limit. The caller lifts these limits for
    the warm-up.
    """
    session.notify("warming up the daemons")
    usual = WarmUp() if session.testbed is None else session.testbed.WARM_UP
    first = Stream(
        seed=0,
        clients=2,
        operations_per_client=WARM_UP_OPERATIONS,
        files_per_client=16,
        mix=[Share(operation=name, weight=weight) for name, weight in WARM_UP_MIX.items()],
        file_size=fixed(usual.file_bytes),
        transfer_size_bytes=1 << 20,
        file_choice="uniform",
    )
    calls = {"clients": WARM_UP_CLIENTS, "operations_per_client": WARM_UP_CALLS}
    streams = [(first, usual.limit_s)]
    if point.scenario.run.warm_up:
        small = {**calls, "file_size": fixed(WARM_UP_SMALL_BYTES)}
        streams = [(first.model_copy(update=small), point.scenario.run.warm_up)]
    if shares_vary(point) and discover.workload(point.scenario.workload.name).command is None:
        own = stream_spec(point.scenario).model_copy(update={**calls, "arrival": "closed"})
        streams.append((own, usual.limit_s))
    for stream, time_limit_s in streams:
        plan = LoadPlan(
            stream=stream,
            # Not every target can bypass caches, so the warm-up does not request direct transfers.
            # If the target cannot bypass caches, the configuration's own run reports the error.
            target=target.model_copy(
                update={"fsync": "never", "drop_caches": "none", "direct": False}
            ),
            run_directory=f"dfslab-{uuid.uuid4().hex[:12]}",
            max_errors=10,
            time_limit_s=time_limit_s,
        )
        try:
            fleet.run_load(plan, session.client_hosts(point.scenario), progress)
        except LoadFailed as error:
            raise RunFailed(f"warming up: {error}") from error


def shares_vary(point: Point) -> bool:
    """Returns whether the hosts' processor shares differ between the configurations of the
    scenario.
    """
    return any(key.endswith(".share") for key in point.labels)


def where(point: Point) -> str:
    """Returns a text that identifies a configuration in error messages."""
    return ", ".join(f"{key} = {value}" for key, value in point.labels.items()) or "the scenario"
