"""The method "trace": runs a short load with spans on, and compresses and ranks the call trees."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Sequence
from pathlib import Path

from dfslab import _core
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments import access, command
from dfslab.instruments.measure import Measured, run_load, to_result
from dfslab.instruments.tracing.reading import Reading
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.files import scratch
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Point
from dfslab.spec.streams.plan import PlanChanges, SpanLimit
from dfslab.spec.streams.stream import stream_spec

NAMES = ("trace",)
MOST_OPERATIONS = 64
MOST_SPANS = 50_000
SERVICE = "dfslab.load"


def make(name: str) -> Trace:
    """The method of that name."""
    return Trace()


class Trace(access.InSession):
    """Runs a configuration briefly, with a span for every operation and step."""

    name = "trace"

    def run(self, point: Point, repetition: int = 0) -> Result:
        """Trace once; the compressed profile is the `profile` of the result.

        For an external program, processes write their own profiles: `program.profiles` is their
        folder.
        """
        with self.opened() as session:
            session.traced = command.is_command(point)
            if session.traced:
                return command.traced(point, repetition, session)
            with scratch.folder("trace") as spare:
                folder = session.trace_directory or spare
                path = folder / f"{point.id}.otlp"
                measured = record(point, repetition, session, path)
                traced = profile([path])
            result = to_result(self.name, point, repetition, measured, session)
            return result.model_copy(update={"profile": traced})


def record(point: Point, repetition: int, session: access.Session, path: Path) -> Measured:
    """Run with spans on and write them to `path` as OTLP (JSON when it ends in .json)."""
    stream = stream_spec(point.scenario, repetition)
    # A stream of phases or of given operations has no fixed number of operations.
    if stream.operations_per_client > MOST_OPERATIONS:
        stream = stream.model_copy(update={"operations_per_client": MOST_OPERATIONS})
    changes: PlanChanges = {"stream": stream, "spans": SpanLimit(limit=MOST_SPANS)}
    measured = run_load(point, repetition, session, changes)
    if not measured.spans:
        raise RunFailed("the traced run gave no span")
    form = "json" if path.suffix == ".json" else "protobuf"
    try:
        _core.trace_write(measured.spans, SERVICE, str(path), form)
    except _core.RunError as error:
        raise RunFailed(str(error)) from error
    return measured


def read(text: str) -> TraceProfile:
    """A profile that the core has written as JSON; the core limits the depth of its trees."""
    return TraceProfile.model_validate(json.loads(text))


def profile(paths: Sequence[Path], reading: Reading | None = None) -> TraceProfile:
    """Call trees of OTLP files, compressed and ranked. InputError names the file that is wrong."""
    try:
        return read(_core.trace_profile([str(p) for p in paths], _options(reading)))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error
    except _core.RunError as error:
        raise RunFailed(str(error)) from error


def _options(reading: Reading | None) -> str:
    return reading.options() if reading else "{}"


def spread(paths: Sequence[Path], scheduler: str, reading: Reading | None = None) -> TraceProfile:
    """As `profile`, with each file read by a worker of a Dask cluster that can access it.

    RunFailed names a file that could not be read. The result does not depend on which worker reads
    which file. Files whose samples show common traces are read again, together.
    """
    options = _options(reading)
    groups = [[path] for path in sorted(paths)]
    parts = _parts(scheduler, groups, options)
    while shared := _core.trace_sharing(parts):
        joined = [sorted(path for place in group for path in groups[place]) for group in shared]
        again = _parts(scheduler, joined, options)
        apart = sorted(set(range(len(groups))) - {place for group in shared for place in group})
        groups = [groups[place] for place in apart] + joined
        parts = [parts[place] for place in apart] + again
    try:
        return read(_core.trace_together(parts, options))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def _parts(scheduler: str, groups: Sequence[Sequence[Path]], options: str) -> list[bytes]:
    # Importing Dask takes half a second, so only this function does.
    from dfslab.fleet import dask

    words = [(part, [str(path) for path in group], options) for group in groups]
    output = dask.each(scheduler, words)
    for kind, text in output:
        if kind == "input":
            raise InputError("trace", None, text)
        if kind == "run":
            raise RunFailed(text)
    return [base64.b64decode(text) for _, text in output]


def part(paths: list[str], options: str) -> tuple[str, str]:
    """A worker's result for some files: a partial profile, or an error text."""
    try:
        return "part", base64.b64encode(bytes(_core.trace_part(paths, options))).decode("ascii")
    except _core.InputError as error:
        return "input", str(error)
    except _core.RunError as error:
        return "run", str(error)


def folded(paths: Sequence[Path], reading: Reading | None = None) -> str:
    """The call trees as folded stacks, for flame graph tools."""
    try:
        return _core.trace_folded([str(path) for path in paths], _options(reading))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def pprof(paths: Sequence[Path], reading: Reading | None = None) -> bytes:
    """The call trees in the format of pprof, gzip-compressed."""
    try:
        found = _core.trace_pprof([str(path) for path in paths], _options(reading))
        return gzip.compress(found, mtime=0)
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def otlp(paths: Sequence[Path], reading: Reading | None, most: int) -> tuple[str, int]:
    """A random sample of complete call trees as OTLP JSON of about `most` spans, and the number of
    trees left out."""
    try:
        return _core.trace_otlp([str(path) for path in paths], most, _options(reading))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


class Stream:
    """A stream of OTLP messages into one profile, in bounded memory; thread-safe."""

    def __init__(self) -> None:
        self._stream = _core.TraceStream()
        self._lock = threading.Lock()

    def push(self, name: str, message: bytes) -> None:
        """Take one message. InputError when it is malformed; spans before the error are kept."""
        with self._lock:
            try:
                self._stream.push(name, message)
            except _core.InputError as error:
                raise InputError("message", None, str(error)) from error

    def snapshot(self) -> tuple[TraceProfile, int]:
        """The profile of the traces to which nothing was added since the last snapshot, and the
        number of spans buffered until their traces are complete."""
        with self._lock:
            waiting = self._stream.waiting()
            return read(self._stream.snapshot("{}")), waiting

    def finish(self) -> TraceProfile:
        """The whole profile, with what faster steps would gain; the stream ends."""
        with self._lock:
            return read(self._stream.finish("{}"))
