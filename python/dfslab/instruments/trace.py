"""The method "trace", which runs a workload briefly with spans, and compresses and ranks its
call trees."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Sequence
from pathlib import Path

from dfslab import _core
from dfslab.core_errors import translated
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments import access, external_program
from dfslab.instruments.contract import NO_OPTIONS, MeasurementOptions
from dfslab.instruments.measure import Measured, run_load, to_result
from dfslab.instruments.tracing import core_form
from dfslab.instruments.tracing.reading import Reading
from dfslab.method import RunFailed
from dfslab.result import Result
from dfslab.spec.files import scratch
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Point
from dfslab.spec.streams.plan import PlanChanges, SpanLimit
from dfslab.spec.streams.stream import stream_spec

NAMES = ("trace",)
MOST_OPERATIONS = 64
MOST_SPANS = 50_000
SERVICE = "dfslab.load"


def make(name: str) -> Trace:
    """Returns the instrument `trace`; discovery of methods calls this function."""
    return Trace()


class Trace:
    """Runs a configuration briefly and records a span for every operation and step."""

    name = "trace"

    def run(
        self,
        point: Point,
        session: access.InstrumentSession,
        repetition: int = 0,
        options: MeasurementOptions = NO_OPTIONS,
    ) -> Result:
        """Runs a configuration once and records its spans. The result's `profile` is the compressed
        profile of the spans.

        If the workload is an external program, its processes write profiles themselves. In this
        case, the result's `program.profiles` names the folder of these profiles.
        """
        if external_program.is_command(point):
            return external_program.traced(point, session, repetition, options)
        with scratch.folder("trace") as spare:
            folder = options.trace_directory or spare
            path = folder / f"{point.id}.otlp"
            measured = record(point, session, path, repetition, options)
            traced = profile([path])
        result = to_result(self.name, point, repetition, measured, session)
        return result.model_copy(update={"profile": traced})


def record(
    point: Point,
    session: access.InstrumentSession,
    path: Path,
    repetition: int = 0,
    options: MeasurementOptions = NO_OPTIONS,
) -> Measured:
    """Runs a configuration, records its spans, and writes them to the file `path` as OTLP. The
    format is JSON if the file's name ends in .json, else protobuf.

    Raises RunFailed if the run fails, if it records no span, or if the file cannot be written.
    """
    stream = stream_spec(point.scenario, repetition)
    # Only a stream that is defined by a number of operations per client can be shortened. A stream
    # of phases or of listed operations keeps its length.
    if stream.operations_per_client > MOST_OPERATIONS:
        stream = stream.model_copy(update={"operations_per_client": MOST_OPERATIONS})
    changes: PlanChanges = {"stream": stream, "spans": SpanLimit(limit=MOST_SPANS)}
    if point.scenario.run.verify == "sample":
        # Do not check the content of files: the check reads files, and its calls would appear in
        # the spans.
        changes["verify"] = "none"
    measured = run_load(point, session, repetition, options, changes)
    if not measured.spans:
        raise RunFailed("the traced run gave no span")
    form = "json" if path.suffix == ".json" else "protobuf"
    try:
        _core.trace_write(measured.spans, SERVICE, str(path), form)
    except _core.RunError as error:
        raise RunFailed(str(error)) from error
    return measured


def read(text: str) -> TraceProfile:
    """Returns the profile that the core has written as JSON text. The core limits the depth of the
    profile's trees."""
    return TraceProfile.model_validate(json.loads(text))


def profile(paths: Sequence[Path], reading: Reading | None = None) -> TraceProfile:
    """Reads OTLP files and returns their call trees, compressed and ranked.

    Raises an InputError that names the malformed file.
    """
    try:
        with (
            core_form.readable(paths, _core.InputError, reading) as files,
            translated(trace_options=_options(reading)),
        ):
            return read(_core.trace_profile(files, _options(reading)))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error
    except _core.RunError as error:
        raise RunFailed(str(error)) from error


def _options(reading: Reading | None) -> str:
    return reading.options() if reading else "{}"


def spread(paths: Sequence[Path], scheduler: str, reading: Reading | None = None) -> TraceProfile:
    """Computes the same profile of OTLP files as `profile`, but on the workers of a Dask cluster.
    `scheduler` is the address of the cluster. Every worker must be able to read all files.

    The result does not depend on how the files are distributed among the workers. If the spans of
    one trace are in several files, one worker reads these files a second time. Raises InputError or
    RunFailed with the name of the file that could not be read.
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
        return read(_core.merge_trace_shards(parts, options))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def _parts(scheduler: str, groups: Sequence[Sequence[Path]], options: str) -> list[bytes]:
    # Importing Dask takes half a second, so Dask is imported only if it is used.
    from dfslab.fleet import each_host

    words = [(part, [str(path) for path in group], options) for group in groups]
    output = each_host.each(scheduler, words)
    for kind, text in output:
        if kind == "input":
            raise InputError("trace", None, text)
        if kind == "run":
            raise RunFailed(text)
    return [base64.b64decode(text) for _, text in output]


def part(paths: list[str], options: str) -> tuple[str, str]:
    """Reads the files `paths` in a Dask worker. Returns ("part", partial profile in base64).

    If the files cannot be read, returns ("input", text of the error) or ("run", text of the error)
    instead. The first word states which error is to be raised: InputError or RunFailed.
    """
    try:
        with core_form.readable([Path(path) for path in paths], _core.InputError) as files:
            found = bytes(_core.trace_part(files, options))
        return "part", base64.b64encode(found).decode("ascii")
    except _core.InputError as error:
        return "input", str(error)
    except _core.RunError as error:
        return "run", str(error)


def folded(paths: Sequence[Path], reading: Reading | None = None) -> str:
    """Returns the call trees of the files as folded stacks, for flame graph tools."""
    try:
        with core_form.readable(paths, _core.InputError, reading) as files:
            return _core.trace_folded(files, _options(reading))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def pprof(paths: Sequence[Path], reading: Reading | None = None) -> bytes:
    """Returns the call trees of the files in the format of pprof, gzip-compressed."""
    try:
        with core_form.readable(paths, _core.InputError, reading) as files:
            found = _core.trace_pprof(files, _options(reading))
        return gzip.compress(found, mtime=0)
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def otlp(paths: Sequence[Path], reading: Reading | None, most: int) -> tuple[str, int]:
    """Returns a random sample of complete call trees as OTLP JSON, and the number of trees that are
    not in the sample. The sample has about `most` spans."""
    try:
        with core_form.readable(paths, _core.InputError, reading) as files:
            return _core.trace_otlp(files, most, _options(reading))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def spans(paths: Sequence[Path], reading: Reading | None, most: int) -> tuple[_core.SpanTable, int]:
    """Returns a random sample of complete call trees as a table of spans, and the number of trees
    that are not in the sample. The sample has about `most` spans and is sorted by trace.
    """
    try:
        with core_form.readable(paths, _core.InputError, reading) as files:
            return _core.trace_spans(files, most, _options(reading))
    except _core.InputError as error:
        raise InputError("trace", None, str(error)) from error


def profile_of(table: _core.SpanTable, rows: Sequence[int]) -> TraceProfile:
    """Returns the profile of those spans that are in the given rows of a table."""
    with scratch.folder("spans") as folder:
        path = folder / "spans.otlp"
        table.write(rows, str(path))
        return profile([path])


class StreamEnded(Exception):
    """Raised for a message that arrives when the stream has ended."""


class ProfileStream:
    """Merges a stream of OTLP messages into one profile.

    The memory is bounded, and several threads may use an object.
    """

    def __init__(self) -> None:
        self._stream = _core.TraceStream()
        self._lock = threading.Lock()
        self._has_ended = threading.Event()

    def push(self, name: str, message: bytes) -> None:
        """Adds one message to the profile.

        Raises InputError if the message is malformed; the message's spans before the error are
        kept. Raises StreamEnded if the stream has ended.
        """
        with self._lock:
            if self._has_ended.is_set():
                raise StreamEnded
            try:
                self._stream.push(name, message)
            except _core.InputError as error:
                raise InputError("message", None, str(error)) from error

    def snapshot(self) -> tuple[TraceProfile, int]:
        """Returns the profile of the complete traces, and the number of spans of incomplete traces,
        which are not in the profile. A trace is complete if it has received no span since the
        previous snapshot.
        """
        with self._lock:
            waiting = self._stream.waiting()
            return read(self._stream.snapshot("{}")), waiting

    def finish(self) -> TraceProfile:
        """Ends the stream. Returns the profile of all spans. Only this profile estimates how much
        time faster steps would save. Messages that wait for the stream are not taken any more."""
        self._has_ended.set()
        with self._lock:
            return read(self._stream.finish("{}"))
