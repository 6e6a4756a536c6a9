"""The lines of `live.jsonl`, in which a running measurement reports its progress and its rates.

Each line of the file is one of these documents as JSON. The file is only for watching a run: the
results of the run hold the same figures, and the file is removed when the run ends.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from dfslab.documents.document import Document

# Name of the file in the folder of a run.
FILE = "live.jsonl"


class LiveProgress(Document):
    """What a run is doing. `share`: the finished part of all its work, 0 to 1. `unix_s`: time of
    the report, in seconds since 1970."""

    kind: Literal["progress"] = "progress"
    unix_s: float
    share: float
    text: str


class LiveRate(Document):
    """The figures of one client host in one second of a workload run.

    `workload_run`: number of the workload run, from 1 on. `at_s`: end of the second, in seconds
    after the start of the workload run. Latencies are in seconds; they are None if no operation
    succeeded in that second. `latency_s_max`: duration of the longest operation.
    """

    kind: Literal["rate"] = "rate"
    unix_s: float
    workload_run: int
    host: str
    at_s: float
    rate_per_s: float
    latency_s_mean: float | None
    latency_s_max: float | None
    errors: int


LiveLine = LiveProgress | LiveRate
LINE: TypeAdapter[LiveLine] = TypeAdapter(
    Annotated[LiveProgress | LiveRate, Field(discriminator="kind")]
)
