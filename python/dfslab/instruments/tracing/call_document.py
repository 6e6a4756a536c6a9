"""Converts merged call profiles of traced JVMs into a trace profile, the type of document into
which spans are converted, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_profile import Entry, Process, Reduction, TraceProfile, TreeNode
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

MOST_RANKED = 1000


def profile(paths: Sequence[Path]) -> TraceProfile:
    """Merges the call profiles of many processes into one document. It has a call tree, with one
    node for each step and calling context, and rankings of the steps."""
    files = [(str(path), read(path)) for path in paths]
    return document(files, merge(files))


def document(files: Sequence[tuple[str, File]], top: MergedStep) -> TraceProfile:
    """Returns the document of call profiles that are already read (`files`) and merged. `top` is
    the root of the merged tree."""
    if not top.children:
        raise InputError("profile", None, "holds no call", files[0][0])
    work, waits = rankings(top)
    places = list(walk(top))
    calls = sum(node.count for _, node in places if node.kind != "detail")
    trees = sum(root.count for root in top.children.values())
    return TraceProfile(
        counted=any(file.counted for _, file in files),
        spans=calls,
        trees=trees,
        shapes=len(top.children),
        reduction=Reduction(
            spans_before=calls,
            spans_after=len(places),
            spans_removed=1 - len(places) / calls if calls else 0.0,
            trees_before=trees,
            trees_after=len(top.children),
            trees_removed=1 - len(top.children) / trees if trees else 0.0,
            rows=sum(len(file.nodes) for _, file in files),
        ),
        losses=_losses(file for _, file in files),
        processes=[
            Process(
                service=file.service,
                instance=file.instance,
                pid=file.pid,
                last=file.last,
                file=name,
            )
            for name, file in files
        ],
        roots=_nested(top),
        ranking=work[:MOST_RANKED],
        waits=waits[:MOST_RANKED],
        ranking_by_name=_by_name(work)[:MOST_RANKED],
        ranking_beyond_limit=sum(max(0, len(r) - MOST_RANKED) for r in (work, waits)),
        left_out={},
        sampling=None,
        savings=None,
        clocks=[],
        timelines=[],
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
    entries = [(path, node) for path, node in walk(top) if node.count and node.kind != "detail"]
    all_ns = sum(node.own_ns for _, node in entries)
    entries.sort(key=lambda entry: (-entry[1].own_ns, -entry[1].count, str(entry[0])))
    rows = [_entry(path, node, all_ns) for path, node in entries]
    return [row for row in rows if row.kind in WORK], [row for row in rows if row.kind not in WORK]


def _entry(path: CallPath, node: MergedStep, all_ns: int) -> Entry:
    return Entry(
        name=node.name,
        path=path,
        kind=node.kind,
        count=node.count,
        read=node.count,
        errors=node.errors,
        bytes=node.bytes,
        total_s=node.total_ns / 1e9,
        self_s=node.own_ns / 1e9,
        mean_s=_mean_s(node.total_ns, node.timed),
        timed=node.timed,
        share=node.own_ns / all_ns if all_ns else 0.0,
        total_ns=node.total_ns,
        self_ns=node.own_ns,
        again=0,
        again_ns=0,
        instances=sorted(node.of),
    )


def _by_name(entries: Sequence[Entry]) -> list[Entry]:
    """Returns one entry for each step name, with the sums of all entries of this name. In the names
    of first steps, the leading name of the process is removed.
    """
    named: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        named[entry.path.step or entry.name].append(entry)
    sums = [_sum(name, same) for name, same in named.items()]
    return sorted(sums, key=lambda entry: (-entry.self_ns, entry.name))


def _sum(name: str, entries: Sequence[Entry]) -> Entry:
    """Returns the sum of entries that have the same name. The sum has the kind of the first
    entry."""
    total_ns = sum(one.total_ns for one in entries)
    timed = sum(one.timed or 0 for one in entries)
    return Entry(
        name=name,
        path=CallPath(None, name),
        kind=entries[0].kind,
        count=sum(one.count for one in entries),
        read=sum(one.read for one in entries),
        errors=sum(one.errors for one in entries),
        bytes=sum(one.bytes for one in entries),
        total_s=sum(one.total_s for one in entries),
        self_s=sum(one.self_s for one in entries),
        mean_s=_mean_s(total_ns, timed),
        timed=timed,
        share=sum(one.share for one in entries),
        total_ns=total_ns,
        self_ns=sum(one.self_ns for one in entries),
        again=0,
        again_ns=0,
        instances=sorted({instance for one in entries for instance in one.instances}),
    )


def _mean_s(total_ns: int, timed: int) -> float | None:
    return total_ns / timed / 1e9 if timed else None


def _nested(top: MergedStep) -> list[TreeNode]:
    """Returns the tree as nested documents. At each level, the node with the longest total time
    comes first.

    The documents are built without recursion, because a deep tree could exceed Python's recursion
    limit.
    """
    written: dict[int, TreeNode] = {}
    for _, node in reversed(list(walk(top))):
        children = [written.pop(id(child)) for child in node.children.values()]
        written[id(node)] = _written(node, sorted(children, key=_order))
    return sorted((written[id(root)] for root in top.children.values()), key=_order)


def _order(node: TreeNode) -> tuple[int, str]:
    return -node.total_ns, node.name


def _written(node: MergedStep, children: list[TreeNode]) -> TreeNode:
    bounded = not node.unbounded
    # `single` is true if each call's duration was recorded, or if there are no calls. Otherwise the
    # node has counters of a server. Such counters are sums, so the node's quantiles and its
    # standard deviation are None.
    single = bool(node.durations) or not node.count
    return TreeNode(
        name=node.name,
        kind=node.kind or "service",
        count=node.count,
        read=node.count,
        timed=node.timed,
        errors=node.errors,
        bytes=node.bytes,
        total_s=node.total_ns / 1e9,
        self_s=node.own_ns / 1e9,
        min_s=(node.min_ns or 0) / 1e9 if bounded else None,
        max_s=node.max_ns / 1e9 if bounded else None,
        p50_s=node.quantile_ns(0.5) / 1e9 if single else None,
        p99_s=node.quantile_ns(0.99) / 1e9 if single else None,
        sd_s=node.population_deviation_ns() / 1e9 if single else None,
        total_ns=node.total_ns,
        self_ns=node.own_ns,
        served_ns=node.served_ns,
        again=False,
        times=None,
        # The last element of each tuple is the standard deviation of the process's calls. It is
        # None, because the profile has only sums for each process.
        of={name: (*sums, None) for name, sums in sorted(node.of.items())},
        instances=sorted(node.of),
        exemplars=[],
        children=children,
    )
