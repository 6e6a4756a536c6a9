"""Converts merged call profiles of traced JVMs into a trace profile. The core makes the trace
profile from rows of merged calls, as it makes the trace profile of spans. This module makes these
rows, and adds the facts that are known from the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from dfslab import _core
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.merged_calls import MergedCalls, MergedNode
from dfslab.documents.traces.trace_profile import Entry, Process, TraceProfile
from dfslab.instruments.tracing.callprofile import (
    INSTRUMENTED,
    NOT_LOADED,
    WORK,
    File,
    Losses,
    MergedStep,
    merge,
    read,
    walk,
)
from dfslab.spec.input_error import InputError


def profile(paths: Sequence[Path]) -> TraceProfile:
    """Merges the call profiles of many processes into one document. The document has a call tree,
    with one node for each step and calling context, and rankings of the steps."""
    files = [(str(path), read(path)) for path in paths]
    return document(files, merge(files))


def document(files: Sequence[tuple[str, File]], top: MergedStep) -> TraceProfile:
    """Returns the document of call profiles. `files`: (path, content) of each profile. `top`: the
    root of the tree into which the profiles were merged."""
    if not top.children:
        raise InputError("profile", None, "holds no call", files[0][0])
    found = _profile_of(top)
    rows = sum(len(file.nodes) for _, file in files)
    return found.model_copy(
        update={
            "counted": any(file.counted for _, file in files),
            "losses": _losses(file for _, file in files),
            "processes": [_process(name, file) for name, file in files],
            "reduction": found.reduction.model_copy(update={"rows": rows}),
        }
    )


def _process(name: str, file: File) -> Process:
    return Process(
        service=file.service, instance=file.instance, pid=file.pid, last=file.last, file=name
    )


def _losses(files: Iterable[File]) -> dict[str, int]:
    losses = {**dict.fromkeys(Losses.model_fields, 0), "open_calls": 0, "points_off": 0}
    for file in files:
        for kind, count in file.losses.model_dump().items():
            losses[kind] += count
        losses["open_calls"] += file.open_calls
        working = (INSTRUMENTED, NOT_LOADED)
        losses["points_off"] += sum(point.state not in working for point in file.points)
    return losses


def rankings(top: MergedStep) -> tuple[list[Entry], list[Entry]]:
    """Returns two rankings of steps: steps that work, and steps that wait. Both are sorted by
    descending self time. Steps of kind "detail" are in neither ranking.
    """
    found = _profile_of(top)
    return found.ranking, found.waits


def _profile_of(top: MergedStep) -> TraceProfile:
    """Returns the profile of the merged tree with its reduction, nested trees and rankings. Fields
    whose values only the files determine are empty. The core makes the profile from rows, as it
    makes the profile of spans."""
    places: dict[CallPath | None, int | None] = {None: None}
    nodes: list[MergedNode] = []
    for path, node in walk(top):
        places[path] = len(nodes)
        nodes.append(_row(node, places[path.parent]))
    merged = MergedCalls(
        calls=sum(one.read for one in nodes if one.cost_class != "detail"),
        trees=sum(root.count for root in top.children.values()),
        nodes=nodes,
    )
    try:
        return TraceProfile.model_validate(json.loads(_core.trace_report(merged.model_dump_json())))
    except _core.InputError as error:
        raise InputError("profile", None, str(error)) from error


def _row(node: MergedStep, above: int | None) -> MergedNode:
    bounded = not node.unbounded
    # `single` is true if each call's duration was recorded, or if there are no calls. Otherwise the
    # node has counters of a server. Such counters are sums, so the node's quantiles and its
    # standard deviation are None.
    single = bool(node.durations) or not node.count
    return MergedNode(
        above=above,
        name=node.name,
        step=node.call.step or node.name,
        cost_class=node.kind or "service",
        ranked=node.count > 0 and node.kind != "detail",
        read=node.count,
        waits=0 if node.kind in WORK else node.count,
        count=node.count,
        timed=node.timed,
        errors=node.errors,
        bytes=node.bytes,
        total_ns=node.total_ns,
        self_ns=node.own_ns,
        served_ns=node.served_ns,
        min_ns=(node.min_ns or 0) if bounded else None,
        max_ns=node.max_ns if bounded else None,
        p50_ns=node.quantile_ns(0.5) if single else None,
        p99_ns=node.quantile_ns(0.99) if single else None,
        sd_ns=node.population_deviation_ns() if single else None,
        instances=sorted(node.of),
        # The last element of each tuple is the standard deviation of the process's calls. The
        # element is None, because the profile has only sums for each process.
        of={name: (*sums, None) for name, sums in sorted(node.of.items())},
    )
