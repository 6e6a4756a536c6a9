"""Reads call profiles that traced JVMs wrote, merges them by calling context, and ranks steps."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError

from dfslab.documents.traces.call_path import CallPath
from dfslab.method import RunFailed
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel
from dfslab.spec.systems.counter_format import CostClass

FORMAT = "dfslab-profile/1"
BEGINNING = re.compile(rb'\s*\{\s*"format"\s*:\s*"dfslab-profile/')
SUFFIX = ".profile.json"
TRACE_SUFFIX = ".trace"
FORGET = ".forget"
SUB_BUCKETS = 64
# Largest depth of the merged tree. Stored documents of deeper trees could not be read again: 255
# levels are the limit of pydantic.
MOST_DEPTH = 240
KINDS = ("", "service", "disk", "queue", "lock", "blocked", "send", "receive", "sleep", "detail")
WORK = ("service", "disk")
WAITS = ("queue", "lock", "blocked", "send", "receive", "sleep")
WRITTEN_LIMIT_S = 30.0
# Longest time in nanoseconds that writing a profile takes. A profile does not answer a request if
# it was completed less than this time after the request, because writing the profile may have begun
# before the request.
WRITE_NS = 200_000_000
# If an instrumentation point works, its state is one of these two: its class is instrumented, or
# the process has not loaded the class. Otherwise the state is the reason why the point does not
# work, as the tracing agent reports it.
INSTRUMENTED, NOT_LOADED = "instrumented", "not loaded"
# The names of the two states in profiles of earlier versions, with their present names.
FORMER_STATES = {"woven": INSTRUMENTED, "unseen": NOT_LOADED}
ProfileCount = Annotated[int, Field(ge=0, lt=2**63)]
Nanoseconds = Annotated[int, Field(gt=-(2**63), lt=2**63)]


class CallTreeRow(CheckedModel):
    """One row of a process's call trees.

    A row with `under` None is a step of this process. Any other row stands for a step of another
    process that calls this process; `under` is the call path of the calling step. The children of
    such a row are the called steps of this process.
    """

    above: int = Field(ge=-1)
    under: str | None = None
    remote: bool = False
    step: str = ""
    kind: CostClass = "service"
    count: ProfileCount = 0
    errors: ProfileCount = 0
    bytes: ProfileCount = 0
    total_ns: Nanoseconds = 0
    self_ns: Nanoseconds = 0
    min_ns: Nanoseconds | None = 0
    max_ns: Nanoseconds | None = 0
    durations: list[tuple[ProfileCount, ProfileCount]] = []
    # False if the row has the counters of a server that records no times. Independently of this,
    # `min_ns` and `max_ns` are None if the server does not record the shortest and longest times.
    timed: bool = True


class Losses(CheckedModel):
    """Counts of what a profile lacks or attributes wrongly.

    - `too_deep`: calls that were counted but not timed, because they were nested too deeply.
    - `misplaced`: calls that were attributed to a wrong step.
    - `hand_overs`: context propagations between threads for which the parent step is unknown.
    - `exemplars_left_out`: exemplar traces that were not recorded.
    """

    too_deep: ProfileCount = 0
    misplaced: ProfileCount = 0
    hand_overs: ProfileCount = 0
    exemplars_left_out: ProfileCount = 0


def current_state(state: str) -> str:
    """Returns the present name of an instrumentation point's state. Names of earlier versions
    (FORMER_STATES) are translated, and all other names are returned unchanged."""
    return FORMER_STATES.get(state, state)


class InstrumentationPoint(CheckedModel):
    """One line of the instrumentation-points file: the state of one instrumentation point in a
    process, for example that its class is instrumented."""

    point: str
    step: str
    state: Annotated[str, AfterValidator(current_state)]


class File(CheckedModel):
    """The call profile of one process. Its counts and times are sums since the process started.

    `host` is the host on which all processes of the trace ran. `host` is "" if the processes ran on
    several hosts, or if the host is not known.
    """

    format: Literal["dfslab-profile/1"]
    host: str = ""
    service: str
    instance: str
    pid: ProfileCount
    started_unix_ns: ProfileCount
    written_unix_ns: ProfileCount
    last: bool
    trees: ProfileCount
    open_calls: ProfileCount
    processor_ns: ProfileCount = 0
    starved_ns: ProfileCount = 0
    counted: bool = False  # sums come from a server's own counters, without single calls
    losses: Losses
    points: list[InstrumentationPoint]
    nodes: list[CallTreeRow]


def await_written(
    folder: Path, limit_s: float = WRITTEN_LIMIT_S, discard: bool = False, clock: Clock = REAL
) -> dict[str, File]:
    """Waits until every process has written a profile after this call, and returns the profiles by
    file name. For a process that has ended, its last profile is returned.

    If `discard` is true, each running process first discards its exemplar traces, but not its sums.
    Raises RunFailed if a profile is not written within `limit_s` seconds, for example because its
    process was killed before it wrote a last profile.
    """
    requested_ns = clock.unix_ns()
    deadline = clock.monotonic_s() + limit_s
    requested: set[str] = set()
    try:
        while clock.monotonic_s() < deadline:
            # An agent that has discarded its exemplar traces has removed its request file. The
            # removal is checked before the profiles are read, so that only a profile that was
            # written after the discard counts as such.
            waiting = {name for name in requested if _forget_file(folder, name).exists()}
            files = {path.name: read(path) for path in expand([folder])}
            if discard:
                met = {name for name, file in files.items() if not file.last} - requested
                requested |= met
                waiting |= met
                for name in met:
                    _forget_file(folder, name).touch()
            if all(
                f.last or (f.written_unix_ns > requested_ns + WRITE_NS and name not in waiting)
                for name, f in files.items()
            ):
                return files
            clock.sleep(0.1)
    finally:
        # Each running process's agent has removed its request file after the discard. Only the
        # request files of ended processes remain, and are removed here.
        for name in requested:
            _forget_file(folder, name).unlink(missing_ok=True)
    raise RunFailed(f"a traced process wrote no profile to {folder} for {limit_s:g} s")


def _forget_file(folder: Path, name: str) -> Path:
    """Returns the path of the request file for the profile `name`. While this file exists, the
    agent that writes this profile is requested to discard its exemplar traces."""
    return folder / (name.removesuffix(SUFFIX) + FORGET)


@dataclass
class MergedStep:
    """A node of the merged tree: a step at one calling context, summed over all processes. The root
    of the tree is no step and has no path.
    """

    path: CallPath | None = None
    kind: str = ""
    handed: bool = False  # whether the step and its parent step run on different threads
    count: int = 0
    timed: int = 0  # number of calls whose times are known
    unbounded: bool = False  # whether the shortest and longest times are unknown for some calls
    errors: int = 0
    bytes: int = 0
    total_ns: int = 0
    self_ns: int = 0
    min_ns: int | None = None
    max_ns: int = 0
    durations: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    # The sums of this step by process: (number of calls, self time in ns, bytes, total time in ns).
    of: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    children: dict[str, MergedStep] = field(default_factory=dict)

    @property
    def call(self) -> CallPath:
        """The call path of the step. The property must not be read at the root, which has no
        path."""
        assert self.path is not None, "the root is no step"
        return self.path

    @property
    def name(self) -> str:
        """The name of the step as recorded. For the first step of a process, the name is
        "process:step"."""
        return self.call.name

    def child(self, name: str) -> MergedStep:
        """Returns the child node for the step `name`. The node is created if it is missing."""
        if name not in self.children:
            self.children[name] = MergedStep(CallPath.of(name, self.path))
        return self.children[name]

    def add(self, row: CallTreeRow, instance: str) -> None:
        """Adds the sums that one process recorded for this step.

        The result does not depend on the order of additions.
        """
        # A step may be work in one process and a wait in another. The merged step gets the kind
        # with the highest index in KINDS.
        self.kind = max(self.kind, row.kind, key=KINDS.index)
        self.count += row.count
        self.errors += row.errors
        self.bytes += row.bytes
        self.total_ns += row.total_ns
        self.self_ns += row.self_ns
        self.timed += row.count if row.timed else 0
        self.unbounded |= row.count > 0 and (row.min_ns is None or row.max_ns is None)
        if row.count:
            lows = [low for low in (self.min_ns, row.min_ns) if low is not None]
            self.min_ns = min(lows, default=None)
            count, self_ns, sent, total_ns = self.of.get(instance, (0, 0, 0, 0))
            self.of[instance] = (
                count + row.count,
                self_ns + row.self_ns,
                sent + row.bytes,
                total_ns + row.total_ns,
            )
        self.max_ns = max(self.max_ns, row.max_ns or 0)
        for low, count in row.durations:
            self.durations[low] += count

    def quantile_ns(self, q: float) -> int:
        """Returns the quantile `q` (from 0 to 1) of the durations in ns, with a relative error of
        at most 0.8 %.
        """
        wanted, observed = q * sum(self.durations.values()), 0
        for low, count in sorted(self.durations.items()):
            observed += count
            if observed >= wanted:
                width = 1 << max(0, low.bit_length() - SUB_BUCKETS.bit_length())
                return min(low + width // 2, self.max_ns)
        return 0

    def deviation_ns(self) -> float:
        """Returns the standard deviation of the durations in ns, estimated for all calls of which
        these are a sample; 0 for fewer than two calls."""
        count = sum(self.durations.values())
        return math.sqrt(self._squares_ns2(count) / (count - 1)) if count > 1 else 0.0

    def population_deviation_ns(self) -> float:
        """Returns the standard deviation of the durations of just these calls in ns."""
        count = sum(self.durations.values())
        return math.sqrt(self._squares_ns2(count) / count) if count else 0.0

    def _squares_ns2(self, count: int) -> float:
        """Returns the sum of the squared differences of `count` durations from their mean."""
        mean = sum(low * n for low, n in self.durations.items()) / count
        return sum(n * (low - mean) ** 2 for low, n in sorted(self.durations.items()))

    @property
    def served_ns(self) -> int:
        """The time in ns that other processes spent on calls from this step."""
        return sum(c.total_ns for c in self.children.values() if c.call.process is not None)

    @property
    def own_ns(self) -> int:
        """The self time in ns.

        A step may block while other processes serve its calls. Its self time is then the recorded
        self time minus the time of those calls (`served_ns`). If this difference is negative, the
        recorded self time is returned.
        """
        waited = self.kind == "blocked" and self.served_ns <= self.self_ns
        return self.self_ns - self.served_ns if waited else self.self_ns


def is_profile(path: Path) -> bool:
    """Returns whether a file is a JVM call profile, according to its first bytes."""
    with path.open("rb") as file:
        return BEGINNING.match(file.read(64)) is not None


def expand(paths: Iterable[Path]) -> list[Path]:
    """Returns the paths of the trace files to read. Each folder in `paths` is replaced by its JVM
    profiles, or by its trace files if it has no JVM profiles.
    """
    found: list[Path] = []
    for path in paths:
        inside = [sorted(path.glob(f"*{suffix}")) for suffix in (SUFFIX, TRACE_SUFFIX)]
        found += (inside[0] or inside[1]) if path.is_dir() else [path]
    return found


def read(path: Path) -> File:
    """Reads one profile. Raises an InputError that states what is wrong with the file."""
    try:
        table = json.loads(path.read_bytes())
        stated = table.get("format") if isinstance(table, dict) else None
        if stated != FORMAT:
            raise InputError("format", stated, f"must be {FORMAT}", str(path))
        return File.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise InputError(key, first["input"], first["msg"], str(path)) from error
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("profile", None, str(error), str(path)) from error


def written(file: File) -> str:
    """Returns the profile as JSON text, in the form that `read` parses."""
    table = {"format": file.format, **file.model_dump(mode="json")}
    return json.dumps(table, separators=(",", ":"))


def merge(files: Iterable[tuple[str, File]]) -> MergedStep:
    """Merges profiles, given as (file name, profile), into one tree. Returns the root of this tree,
    which is not a step.

    The rows of each profile must be in an order in which every parent precedes its children.
    Otherwise raises InputError.
    """
    top = MergedStep()
    for name, file in files:
        # One entry for each row of the profile: (node of the merged tree, depth, whether the
        # children of the row are the first steps of a process).
        places: list[tuple[MergedStep, int, bool]] = []
        for number, row in enumerate(file.nodes):
            if row.above >= number:
                raise InputError(f"nodes.{number}.above", row.above, "must be an earlier row", name)
            node, depth, first = (top, 0, True) if row.above < 0 else places[row.above]
            if row.under is not None:
                steps = [step for step in row.under.split("/") if step]
            else:
                steps = [f"{file.service}:{row.step}" if first else row.step]
            for step in steps:
                node = node.child(step)
            depth += len(steps)
            if depth > MOST_DEPTH:
                allowed = f"must be at most {MOST_DEPTH} steps below a first cause"
                raise InputError(f"nodes.{number}", None, allowed, name)
            if row.under is None:
                node.add(row, file.instance)
                cause = file.nodes[row.above].under if row.above >= 0 else None
                node.handed |= cause is not None and not first
            places.append((node, depth, row.under is not None and row.remote))
    return top


def since(earlier: File, later: File) -> File:
    """Returns the profile of the calls of one process between its profiles `earlier` and `later`.

    Counts and times are subtracted. The shortest and longest times are those of all calls since the
    process started, because they cannot be subtracted.
    """
    before = {place: row for place, row in _places(earlier)}
    rows = []
    for place, row in _places(later):
        was = before.get(place)
        if was is None or row.under is not None:
            rows.append(row)
            continue
        counts = dict(row.durations)
        for low, count in was.durations:
            counts[low] -= count
        rows.append(
            row.model_copy(
                update={
                    "count": row.count - was.count,
                    "errors": row.errors - was.errors,
                    "bytes": row.bytes - was.bytes,
                    "total_ns": row.total_ns - was.total_ns,
                    "self_ns": row.self_ns - was.self_ns,
                    "durations": [pair for pair in counts.items() if pair[1] > 0],
                }
            )
        )
    return later.model_copy(
        update={
            "nodes": rows,
            "started_unix_ns": earlier.written_unix_ns,
            "processor_ns": later.processor_ns - earlier.processor_ns,
            "starved_ns": later.starved_ns - earlier.starved_ns,
        }
    )


def _places(file: File) -> Iterator[tuple[tuple[str, ...], CallTreeRow]]:
    """Yields every row of a profile with the row's path in the process's tree."""
    known: list[tuple[str, ...]] = []
    for row in file.nodes:
        above = known[row.above] if row.above >= 0 else ()
        known.append((*above, row.step if row.under is None else f"{row.remote} {row.under}"))
        yield known[-1], row


def walk(top: MergedStep) -> Iterator[tuple[CallPath, MergedStep]]:
    """Yields every step's call path and node. A parent precedes its children."""
    open_nodes = [top]
    while open_nodes:
        node = open_nodes.pop()
        if node is not top:
            yield node.call, node
        open_nodes += [child for _, child in sorted(node.children.items(), reverse=True)]


def folded(top: MergedStep) -> str:
    """Returns the merged tree as folded stacks with self times in nanoseconds, sorted by stack."""
    lines = [
        f"{';'.join(name.replace(';', ':') for name in path.names)} {max(0, node.own_ns)}\n"
        for path, node in walk(top)
        if node.kind != "detail"
    ]
    return "".join(sorted(lines))
