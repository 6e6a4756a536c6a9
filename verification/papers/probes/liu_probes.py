"""Compares statements of Liu 2018 with three sources: recorded profiles of a real HDFS, recorded
tables of its calls, and the paper's own figures.

The recorded profiles are those of verification/data/liu-interventions. These profiles are of ten
rounds of one mixed workload on three DataNodes. Every call was counted.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from functools import cache

from dfslab.cli.command_table import PURPOSES
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.tracing import call_document, callprofile
from dfslab.instruments.tracing.callprofile import File, MergedStep

from verification import recordings
from verification.figures import committed
from verification.papers.obtained import Obtained, judged, not_judged
from verification.reproductions import liu_calls
from verification.reproductions.liu_calls import CREATE, LOCATIONS, SEND_BLOCK, SEND_PACKET, TABLE_1

RECORDING = "liu-interventions"
FREQUENCIES = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
# Limits for two statements of Liu 2018. SIMILAR is the largest ratio that counts as "little to do
# with". REMOVED is Liu's own figure, "more than 90 %".
SIMILAR, REMOVED = 1.5, 0.9
# Limits that were set after the recordings. The client counts as the bottleneck if the functions of
# the servers take less than SERVERS_MOST of the requests' time. A faster medium counts as no great
# gain if it can save at most MEDIUM_MOST of a job's time.
SERVERS_MOST, MEDIUM_MOST = 0.5, 0.05
# Liu 2018 ranks parts by the sum of their times. A ranking counts as right if it names the slowed
# part in at least 90 % of the rounds.
BY_SUM, NAMED = "by the sum of times", 0.9


@cache
def _files() -> list[File]:
    """Returns the profiles of the first recorded round."""
    path = recordings.DATA / f"{RECORDING}{recordings.PROFILES}"
    with lzma.open(path, "rt") as stream:
        first = json.load(stream)[0]
    return [File.model_validate(file) for file in first["files"]]


def _named() -> list[tuple[str, File]]:
    return [(f"{number}", file) for number, file in enumerate(_files())]


@cache
def _top() -> MergedStep:
    return callprofile.merge(_named())


@cache
def _profile() -> TraceProfile:
    return call_document.document(_named(), _top())


def figure_1() -> Obtained:
    """Judges whether dfslab has the parts of figure 1 of Liu 2018: recording, database, call trees,
    compression and pictures."""
    known = {one.name for group in PURPOSES.values() for one in group}
    return judged("trace" in known, "trace record, import, report, query, top; page of a run")


def trees_removed() -> Obtained:
    """Judges whether merging equal call trees leaves less than 10 % of the call trees."""
    found = _profile().reduction
    text = (
        f"{found.trees_before:,} trees become {found.trees_after}, {found.trees_removed:.1%} fewer"
    )
    return judged(found.trees_removed > REMOVED, text)


def calls_removed() -> Obtained:
    """Judges whether merging equal call trees leaves less than 10 % of the calls."""
    found = _profile().reduction
    text = (
        f"{found.spans_before:,} calls become {found.spans_after}, {found.spans_removed:.1%} fewer"
    )
    return judged(found.spans_removed > REMOVED, text)


def _steps(process: str) -> list[MergedStep]:
    return [
        node
        for path, node in callprofile.walk(_top())
        if (path.within or "").startswith(process) and node.count
    ]


def namenode() -> Obtained:
    """Judges whether the profile has more than three steps inside the NameNode."""
    found = {node.name for node in _steps("namenode")}
    return judged(len(found) > 3, f"{len(found)} steps of the NameNode")


def datanode_disk() -> Obtained:
    """Judges whether the profile has calls of local I/O in DataNodes."""
    found = [node for node in _steps("datanode") if node.kind == "disk"]
    calls = sum(node.count for node in found)
    return judged(calls > 0, f"{len(found)} steps with {calls:,} calls of local I/O")


def network_and_disk() -> Obtained:
    """Judges whether the profile distinguishes disk I/O from receiving over the network in
    DataNodes."""
    kinds = {node.kind for node in _steps("datanode")}
    return judged({"disk", "receive"} <= kinds, f"kinds {', '.join(sorted(kinds))}")


def between_datanodes() -> Obtained:
    """Judges whether the profile has steps of a DataNode that were caused by another DataNode."""
    found = [
        path
        for path, node in callprofile.walk(_top())
        if node.count and path.process is not None and path.processes >= 3
    ]
    return judged(bool(found), f"{len(found)} steps of one DataNode caused by another")


def arguments() -> Obtained:
    """Judges whether the profile records arguments of calls. The arguments that it records are the
    bytes of the calls."""
    found = [node for _, node in callprofile.walk(_top()) if node.bytes]
    most = max(node.bytes for node in found) if found else 0
    return judged(bool(found), f"{len(found)} steps have bytes, up to {most / 2**20:.1f} MiB")


def polymorphous() -> Obtained:
    """Judges two statements on instrumentation points. Several points, such as the signatures of
    one method, become one step of the profile. Every point whose class was loaded was
    instrumented."""
    subjects = recordings.of_scenario(liu_calls.JOBS)
    if not subjects:
        return not_judged(f"no recording of scenarios/{liu_calls.JOBS}.toml yet")
    points = liu_calls.points(subjects[0])
    states = [state for step in points.values() if len(step) > 1 for state in step.values()]
    steps = sum(len(step) > 1 for step in points.values())
    instrumented = states.count(callprofile.INSTRUMENTED)
    not_loaded = states.count(callprofile.NOT_LOADED)
    text = f"{steps} steps merge {len(states)} instrumentation points: {instrumented} instrumented"
    text += f", {not_loaded} of classes that were not loaded"
    return judged(steps > 0 and instrumented + not_loaded == len(states), text)


def statistics() -> Obtained:
    """Judges whether each merged step has a minimum time that is at most its maximum time. Merged
    steps also have the count, the sum and the quantiles of the times. The text names these."""
    steps = [node for _, node in callprofile.walk(_top()) if node.count > 1]
    ordered = all(node.min_ns is None or node.min_ns <= node.max_ns for node in steps)
    return judged(ordered, f"count, sum, extremes and quantiles of {len(steps)} merged steps")


def no_sampling() -> Obtained:
    """Judges whether at most 0.1 % of the calls were lost. The tracer does not sample, so it leaves
    out no call on purpose."""
    lost = sum(sum(file.losses.model_dump().values()) for file in _files())
    calls = _profile().spans
    return judged(lost <= calls / 1000, f"{calls:,} calls counted without sampling, {lost} lost")


def by_sum() -> Obtained:
    """Judges whether ranking parts by their summed times is right in at least 90 % of the rounds. A
    ranking is right if its first part is the part that was slowed."""
    (found,) = [one for one in committed() if (one.bar, one.part) == ("liu.others-named", BY_SUM)]
    assert found.value is not None
    text = f"names the slowed part in {found.value:.0%} of {found.points} rounds"
    return judged(found.value >= NAMED, text)


def u_shape() -> Obtained:
    """Judges whether the delays in Table 1 of Liu 2018 first fall and then rise with the frequency
    of requests."""
    return _falls_and_rises(TABLE_1, "the paper's figures")


def u_shape_measured() -> Obtained:
    """Judges whether the recorded delays first fall and then rise with the frequency of
    requests."""
    subjects = recordings.of_scenario(liu_calls.FREQUENCIES)
    if not subjects:
        return not_judged(f"no recording of scenarios/{liu_calls.FREQUENCIES}.toml yet")
    every = liu_calls.calls(subjects[0]).values()
    rows = {name: tuple(found[name].mean_s for found in every) for name in TABLE_1}
    return _falls_and_rises(rows, "recorded")


def _falls_and_rises(rows: Mapping[str, Sequence[float]], source: str) -> Obtained:
    """Judges whether the delays of sendBlock, sendPacket and getBlockLocations are smallest at a
    medium frequency of requests, which is neither the lowest nor the highest. `rows` has the delays
    in seconds of each function, in the order of the frequencies."""
    shown, holds = [], True
    for name in (SEND_BLOCK, SEND_PACKET, LOCATIONS):
        row = rows[name]
        least = row.index(min(row))
        holds &= 0 < least < len(row) - 1 and row[0] > min(row) < row[-1]
        shown.append(f"{name.partition('#')[2]} least at {FREQUENCIES[least]}")
    return judged(holds, f"{source}: {', '.join(shown)}")


def create_file_system_level() -> Obtained:
    """Judges whether createFileSystem takes about the same time at all frequencies of requests in
    Table 1 of Liu 2018."""
    row = TABLE_1[CREATE]
    ratio = max(row) / min(row)
    return judged(ratio <= SIMILAR, f"the paper's figures differ by a factor of {ratio:.2f}")


def send_block_share() -> Obtained:
    """Judges whether sendBlock takes more than half of the time of createFileSystem at any
    frequency of requests. The times are those of Table 1 of Liu 2018."""
    worst = max(block / whole for block, whole in zip(*_block_and_whole(), strict=True))
    return judged(worst > 0.5, f"sendBlock is at most {worst:.0%} of createFileSystem's delay")


def servers_under_load() -> Obtained:
    """Judges whether two functions of servers take less than half of the clients' time for
    requests. The functions are getBlockLocations (NameNode) and sendBlock (DataNodes). The time is
    that at the highest recorded frequency of requests."""
    subjects = recordings.of_scenario(liu_calls.FREQUENCIES)
    if not subjects:
        return not_judged(f"no recording of scenarios/{liu_calls.FREQUENCIES}.toml yet")
    *_, found = liu_calls.calls(subjects[0]).values()
    request_s = found[liu_calls.REQUEST].sum_s
    servers_s = [found[name].sum_s for name in (LOCATIONS, SEND_BLOCK)]
    text = f"{found[liu_calls.REQUEST].calls:,} requests take {request_s:.3g} s, of which "
    text += (
        f"getBlockLocations of the NameNode {servers_s[0]:.2g} s and sendBlock of the DataNodes "
    )
    text += f"{servers_s[1]:.2g} s, together {sum(servers_s) / request_s:.0%}"
    return judged(sum(servers_s) < SERVERS_MOST * request_s, text)


def faster_medium() -> Obtained:
    """Judges whether a faster medium would be no great gain for each recorded job. A faster medium
    can save at most the time that the DataNodes need to write to disk and to flush. This time must
    be at most MEDIUM_MOST of the job's duration."""
    subjects = recordings.of_scenario(liu_calls.JOBS)
    if not subjects:
        return not_judged(f"no recording of scenarios/{liu_calls.JOBS}.toml yet")
    shares = {
        " ".join(reversed(configuration)): sum(
            found[name].sum_s for name in liu_calls.TO_DISK if name in found
        )
        / found[CREATE].took_s
        for configuration, found in liu_calls.calls(subjects[0]).items()
    }
    most = max(shares, key=lambda one: shares[one])
    text = f"local writes take at most {shares[most]:.1%} of a job ({most}), of {len(shares)} jobs"
    return judged(shares[most] <= MEDIUM_MOST, text)


def _block_and_whole() -> tuple[tuple[float, ...], tuple[float, ...]]:
    return TABLE_1[SEND_BLOCK], TABLE_1[CREATE]
