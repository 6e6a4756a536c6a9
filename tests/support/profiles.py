"""Builds call profiles of operations whose times a test chooses, in the form in which traced
processes write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_profile import Reduction, TraceProfile, TreeNode
from dfslab.instruments.tracing import call_document
from dfslab.instruments.tracing.callprofile import File

MS = 1_000_000
Processes = Iterable[tuple[str, list[dict[str, Any]]]]


def step(
    above: int, name: str, total: int, below: int = 0, kind: str = "service"
) -> dict[str, Any]:
    """Returns the profile entry of ten equal calls of the step `name`. `total` is the time of all
    ten calls in ms. `below` is the part of `total`, in ms, that is spent in calls which the ten
    calls make. `above` is the index of the profile entry of the calling step."""
    each = total * MS // 10
    return {
        "above": above,
        "step": name,
        "kind": kind,
        "count": 10,
        "total_ns": total * MS,
        "self_ns": (total - below) * MS,
        "min_ns": each,
        "max_ns": each,
        "durations": [[each, 10]],
    }


def files(processes: Processes) -> list[tuple[str, File]]:
    """Returns (file name, profile) for each process, as a process writes it at its end."""
    common = {
        "format": "dfslab-profile/1",
        "pid": 1,
        "started_unix_ns": 1,
        "written_unix_ns": 2,
        "last": True,
        "trees": 1,
        "open_calls": 0,
        "points": [],
        "losses": {},
    }
    return [
        (
            service,
            File.model_validate({**common, "service": service, "instance": service, "nodes": rows}),
        )
        for service, rows in processes
    ]


SMALL_FILES = (
    (
        "client",
        [
            step(-1, "put", 1000, 900),
            step(0, "create", 100, 40),
            step(1, "rpc", 40, kind="blocked"),
            step(0, "close", 800, 700),
            step(3, "back_off", 700, kind="blocked"),
            {"above": -1, "under": "client:put", "remote": False},
            step(5, "stream", 60, 50),
            step(6, "acks", 50, kind="blocked"),
        ],
    ),
    (
        "server",
        [
            {"above": -1, "under": "client:put/create/rpc", "remote": True},
            step(0, "make", 30),
            step(-1, "beat", 5000),
        ],
    ),
)


def call_profile(paths: Sequence[Path]) -> dict[str, Any]:
    """Returns the call profile merged from the files of several processes, as JSON data."""
    return plain(call_document.profile(paths))


def tree_node(name: str, *children: TreeNode, **sums: Any) -> TreeNode:
    """Returns a node `name` of a call tree with the child nodes `children`. `sums` has counts and
    times of the node. Counts and times that `sums` lacks are zero."""
    zeros = dict.fromkeys(("count", "errors", "bytes", "total_ns", "self_ns"), 0)
    times_s = dict.fromkeys(("total_s", "self_s", "min_s", "max_s", "p50_s", "p99_s", "sd_s"), 0.0)
    reported = {"kind": "service", "again": False, "times": None, "of": {}, "exemplars": []}
    read = sums.get("count", 0)
    return TreeNode(
        **{**zeros, **times_s, **reported, "read": read, **sums}, name=name, children=list(children)
    )


def tree_profile(*roots: TreeNode, **parts: Any) -> TraceProfile:
    """Returns a trace profile with the given call trees. `parts` has further fields of the profile,
    which are empty by default."""
    shares = {"spans_removed": 0.0, "trees_removed": 0.0}
    counts = ("spans_before", "spans_after", "trees_before", "trees_after")
    lists = ("ranking", "ranking_by_name", "waits", "clocks", "timelines")
    empty: dict[str, Any] = {
        **{name: [] for name in lists},
        **dict.fromkeys(("spans", "trees", "shapes", "ranking_beyond_limit"), 0),
        **{"losses": {}, "left_out": {}, "sampling": None, "savings": None},
        "reduction": Reduction(**dict.fromkeys(counts, 0), **shares),
    }
    return TraceProfile(**{**empty, **parts, "roots": list(roots)})
