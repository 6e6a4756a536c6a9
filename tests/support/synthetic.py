"""Makes synthetic results for tests of models and studies. The rates of the results follow a known
formula, the planted law, which a fitted model should reproduce."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
from dfslab.documents.measured_load import MeasuredLoad
from dfslab.imports.formats.recorded import RECORDED
from dfslab.result import Metric, Result, Step, provenance
from dfslab.spec.model import build
from dfslab.spec.scenario import Point, Scenario

# The binary form of a completed operation, as core/workload/operation.rs writes it.
ONE_OPERATION = struct.Struct("<IIQQQQQII")
SIZES = ["64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"]


def scenario(sizes=SIZES, clients=(1, 2, 4), hold_out=({"workload.file_size": "1 MiB"},), **run):
    """Returns a scenario of a local directory that varies the file size and the number of clients.
    `run` sets keys of the scenario's `run` table."""
    roles = {"client": 1, "storage": 1}
    return build(
        Scenario,
        {
            "name": "synthetic",
            "deployment": {"node": [{"name": "machine", "cores": 2, "roles": roles}]},
            "file_system": {"name": "local"},
            "workload": {"name": "sequential_read"},
            "run": {"repetitions": 2, **run},
            "sweep": [
                {
                    "workload.name": ["sequential_read", "sequential_write"],
                    "workload.file_size": list(sizes),
                    "workload.clients": list(clients),
                }
            ],
            "judge": {"hold_out": list(hold_out)},
        },
    )


def operation(point: Point) -> str:
    """Returns the operation of the configuration's workload, "read" or "write"."""
    return point.scenario.workload.name.removeprefix("sequential_")


def measured(point: Point, rate: float, repetition: int = 0, method: str = "measure") -> Result:
    """Returns a result of one configuration with the same fields as a measured result. `rate` is in
    operations per second. By Little's law, the latency is the number of clients divided by `rate`.
    """
    name = operation(point)
    latency = point.scenario.workload.clients / rate
    return Result(
        method=method,
        point_id=point.id,
        point=point,
        repetition=repetition,
        metrics={"rate_per_s": Metric(value=rate), f"latency_s_mean.{name}": Metric(value=latency)},
        steps=[Step(operation=name, step=name, time_s_mean=latency, count=100)],
        load=MeasuredLoad(wall_s=0.0, histograms={name: [(int(latency * 1e9), 100)]}),
        provenance=provenance(1),
    )


def predicted(point: Point, rate: float, low: float, high: float, method: str) -> Result:
    """Returns a predicted result with the given rate in operations per second and the interval from
    `low` to `high`."""
    result = measured(point, rate, method=method)
    metric = Metric(value=rate, low=low, high=high)
    return result.model_copy(update={"metrics": {**result.metrics, "rate_per_s": metric}})


def planted_rate(point: Point) -> float:
    """Returns the planted rate of a configuration in operations per second. For reads, log2 rate =
    16 - 0.7 log2(file size in MiB) + 0.5 log2(clients). Writes have a third of this rate."""
    size = float(point.scenario.workload.parameters["file_size"].split()[0])
    size /= 1024 if "KiB" in point.scenario.workload.parameters["file_size"] else 1
    clients = point.scenario.workload.clients
    rate = 2.0 ** (16 - 0.7 * np.log2(size) + 0.5 * np.log2(clients))
    return rate / 3 if operation(point) == "write" else rate


def planted(noise: float = 0.0, seed: int = 5, repetitions: int = 2, **kwargs) -> list[Result]:
    """Returns synthetic measured results of all configurations of a scenario. The rate of each
    result is `planted_rate` times a lognormal noise factor. `noise` is the standard deviation of
    the factor's natural logarithm."""
    random = np.random.default_rng(seed)
    return [
        measured(point, planted_rate(point) * float(np.exp(noise * random.normal())), repetition)
        for point in scenario(**kwargs).points()
        for repetition in range(repetitions)
    ]


def spans_of(hosts: dict[str, float], seed: int) -> dict[str, Any]:
    """Returns the spans of two hundred reads as OTLP data. The disks of `hosts` serve the reads in
    rotation. `hosts` maps the name of each host to the factor by which its disk is slower than a
    normal disk."""
    source = random.Random(seed)
    spans: dict[str, list[dict[str, Any]]] = {host: [] for host in hosts}
    for number in range(200):
        host = list(hosts)[number % len(hosts)]
        disk_ns = round(1e6 * source.lognormvariate(0, 0.3) * hosts[host])
        ends = {"read": disk_ns + 10**6, "disk": disk_ns, "copy": source.randrange(10**5, 10**6)}
        for place, (name, took_ns) in enumerate(ends.items()):
            above = {"parentSpanId": f"{number:012x}0001"} if place else {}
            spans[host].append(
                {
                    "traceId": f"{number + 1:032x}",
                    "name": name,
                    **above,
                    "spanId": f"{number:012x}{place + 1:04x}",
                    "startTimeUnixNano": str(10**9),
                    "endTimeUnixNano": str(10**9 + took_ns),
                }
            )
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": host}}]},
                "scopeSpans": [{"spans": own}],
            }
            for host, own in spans.items()
        ]
    }


def without_times(recorded: bytes) -> bytes:
    """Returns the binary records of the operations of a run without their start times, so that the
    operations of two runs can be compared. The start time is the last field of each record."""
    rows = RECORDED.iter_unpack(recorded)
    return b"".join(ONE_OPERATION.pack(*operation) for *operation, _ in rows)
