"""Warm-up runs, so that a fresh testbed's first run behaves like later ones; results are
discarded."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from dfslab import discover
from dfslab.fleet import run as fleet
from dfslab.fleet.shards import LoadFailed
from dfslab.instruments import access
from dfslab.method import RunFailed
from dfslab.spec.scenario import Point
from dfslab.spec.streams.stream import stream_spec
from dfslab.testbeds.capabilities import WarmUp

WARM_UP_MIX = {"read": 4, "write": 2, "create": 3, "stat": 6, "list": 1, "rename": 2, "delete": 1}
WARM_UP_OPERATIONS = 400
# A JVM compiles a method with full optimisation after some tens of thousands of calls.
WARM_UP_CALLS = 16_000
WARM_UP_CLIENTS = 8
WARM_UP_SMALL_BYTES = 64 << 10


def warm_up(point: Point, target: Mapping[str, Any], session: access.Session) -> None:
    """Run the warm-up of a fresh testbed; its results are discarded.

    With a duration in the scenario, many small runs are made, since a few calls trigger no JIT
    compilation. Under a processor limit compilation takes many times as long, so in studies that
    vary processor shares the point's own operations are warmed up before the limits apply.
    """
    session.notify("warming up the daemons")
    mix = [{"operation": name, "weight": weight} for name, weight in WARM_UP_MIX.items()]
    usual = WarmUp() if session.testbed is None else session.testbed.WARM_UP
    file_bytes, limit_s = usual.file_bytes, usual.limit_s
    first: dict[str, Any] = {
        "seed": 0,
        "clients": 2,
        "operations_per_client": WARM_UP_OPERATIONS,
        "files_per_client": 16,
        "mix": mix,
        "file_size": {"fixed": file_bytes},
        "transfer_size_bytes": 1 << 20,
        "file_choice": "uniform",
    }
    calls = {"clients": WARM_UP_CLIENTS, "operations_per_client": WARM_UP_CALLS}
    streams = [(first, limit_s)]
    if point.scenario.run.warm_up:
        small = {**first, **calls, "file_size": {"fixed": WARM_UP_SMALL_BYTES}}
        streams = [(small, point.scenario.run.warm_up)]
    if shares_vary(point) and discover.workload(point.scenario.workload.name).argv is None:
        own = {k: v for k, v in stream_spec(point.scenario).items() if k != "arrival"}
        streams.append(({**own, **calls}, limit_s))
    for stream, time_limit_s in streams:
        plan = {
            "stream": stream,
            "target": {**target, "fsync": "never", "drop_caches": "none"},
            "run_directory": f"dfslab-{uuid.uuid4().hex[:12]}",
            "max_errors": 10,
            "time_limit_s": time_limit_s,
        }
        try:
            fleet.run_load(plan, session.places(point.scenario), session.progress)
        except LoadFailed as error:
            raise RunFailed(f"warming up: {error}") from error


def shares_vary(point: Point) -> bool:
    """Whether hosts' processor shares differ between the configurations."""
    return any(key.endswith(".share") for key in point.labels)


def where(point: Point) -> str:
    """A configuration as it is named in an error message."""
    return ", ".join(f"{key} = {value}" for key, value in point.labels.items()) or "the scenario"
