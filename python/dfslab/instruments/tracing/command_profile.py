"""Restricts the profiles of traced processes to the time in which a command ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing.callprofile import CallTreeRow, File
from dfslab.instruments.tracing.exemplar_traces import EXEMPLARS, later_than
from dfslab.testbeds.capabilities import Traceable

# The name of the host in a profile if all processes run on this machine outside of emulated hosts.
THIS_MACHINE = "this machine"


def host_of(testbed: Traceable) -> str:
    """Returns the host of all processes of a testbed, its clients included.

    The result is THIS_MACHINE if there are no emulated hosts. The result is "" if clients are
    started on emulated hosts, because the processes then run on several hosts.
    """
    words = ["true"]
    return THIS_MACHINE if testbed.client_command(words) == words else ""


def write_increase(
    source: Path,
    folder: Path,
    before: Mapping[str, File],
    after: Mapping[str, File],
    began_unix_ns: int,
    host: str = "",
) -> int:
    """Writes one profile for each process to `folder`, with the calls between two readings. Also
    writes the exemplar traces of processes that ended between the readings. Returns the number of
    profiles.

    - `before`, `after`: profiles of the two readings by file name. A process that is missing from
      `before` started between the readings.
    - `began_unix_ns`: time of the first reading (Unix time in ns).
    - `source`: folder with the exemplar traces; may be `folder` itself.
    - `host`: host of all processes; "" if they ran on several hosts.

    Profiles that `folder` had before are removed. No profile is written for a process without
    calls.
    """
    exemplars = {path.name: path for path in source.glob(f"*{EXEMPLARS}")}
    kept: dict[str, str] = {}
    for name, file in after.items():
        given = callprofile.since(before[name], file) if name in before else file
        rows = _with_calls(given.nodes)
        if not rows:
            continue
        kept[name] = callprofile.written(given.model_copy(update={"host": host, "nodes": rows}))
        traces = name.removesuffix(callprofile.SUFFIX) + EXEMPLARS
        # Processes of the command write their exemplar traces when they end (`last`), so only these
        # traces are used. Daemons write at long intervals, so their exemplar traces may be older
        # than the command.
        if file.last and traces in exemplars:
            kept[traces] = later_than(exemplars[traces], began_unix_ns)
    for old in [*folder.glob(f"*{callprofile.SUFFIX}"), *folder.glob(f"*{EXEMPLARS}")]:
        old.unlink()
    for name, text in kept.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sum(name.endswith(callprofile.SUFFIX) for name in kept)


def _with_calls(rows: Sequence[CallTreeRow]) -> list[CallTreeRow]:
    """Returns the rows with calls, and the ancestors of these rows. The row numbers in `above` are
    adjusted.
    """
    is_kept = [row.count > 0 for row in rows]
    for index in reversed(range(len(rows))):
        if is_kept[index] and rows[index].above >= 0:
            is_kept[rows[index].above] = True
    numbers: dict[int, int] = {-1: -1}
    found: list[CallTreeRow] = []
    for index, row in enumerate(rows):
        if is_kept[index]:
            numbers[index] = len(found)
            found.append(row.model_copy(update={"above": numbers[row.above]}))
    return found
