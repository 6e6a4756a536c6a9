"""Functions that do the work of the commands on traces: they record, read, merge, rank and draw
traces."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dfslab import discover
from dfslab.cli.traces import trace_cohorts
from dfslab.documents.table import Value
from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_analysis import ReceivedProfile, TraceAnalysis
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.exports import contract as exporters
from dfslab.exports.contract import TraceExporter, Written
from dfslab.instruments import access
from dfslab.instruments import external_program as programs
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import callprofile, counter_profiles
from dfslab.instruments.tracing import receive as receiving
from dfslab.instruments.tracing.command_profile import host_of, write_increase
from dfslab.instruments.tracing.reading import Reading
from dfslab.method import RunFailed
from dfslab.report.trees_text import trees_text
from dfslab.spec.check import check
from dfslab.spec.clock import REAL, Clock
from dfslab.spec.files import scratch
from dfslab.spec.files.outputs import (
    STANDARD_OUTPUT,
    Output,
    check_writable,
    new_folder,
    write_atomically,
)
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies.traces import cohort, trace_store, traced_steps
from dfslab.studies.traces.trace_files import existing, of_jvms, profile, read_profiles
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.capabilities import Counting, Traceable
from dfslab.testbeds.found import testbed_class

if TYPE_CHECKING:
    from dfslab.studies.contract import Progress

RECEIVED = "received.json"
# The name of the model whose step times are compared with the traced step times. This model
# computes step times from the description of a file system. It is not fitted to measurements.
MODEL = "sequence"


def record(scenario: Scenario, output: Output, report: Progress) -> TraceProfile:
    """Traces the first configuration of a scenario, and writes the trace as an OTLP file. The file
    is in JSON if its name ends in .json, otherwise in protobuf.

    Returns the profile of the trace.
    """
    point = check(scenario)[0]
    output.check()
    with (
        access.session(notify=lambda text: report(0, 1, text)) as session,
        scratch.folder("trace") as folder,
    ):
        path = folder / f"trace{output.path.suffix}"
        tracing.record(point, session, path)
        output.write(path.read_bytes())
        return tracing.profile([path])


def record_command(
    name: str,
    values: dict[str, str],
    command: Sequence[str],
    folder: Path,
    notify: Callable[[str], None],
    clock: Clock = REAL,
) -> TraceProfile:
    """Runs a client command on a testbed and traces the testbed's daemons and the command's JVMs.

    `values`: parameters of the testbed. `folder`: new folder for the profiles. Returns one profile
    of the work that all these processes did while the command ran.

    Raises InputError if the command cannot be started. Raises RunFailed if the command fails or
    makes no call of the testbed's file system.
    """
    if str(folder) == STANDARD_OUTPUT:
        raise InputError("--output", str(folder), "must be a folder: --on writes several files")
    new_folder("--output", folder)
    kind = testbed_class(name, "--on")
    if not issubclass(kind, Traceable):
        return _record_mounted(kind, name, values, command, folder, notify)
    typed = kind.typed(values)
    folder.mkdir(exist_ok=True)
    with kind.up({**typed, **kind.traced(folder)}, notify=notify) as testbed:
        assert isinstance(testbed, Traceable)
        host = host_of(testbed)
        # This profile has the calls that the testbed made before the command, for example at its
        # start. These calls are subtracted below, because they are not work of the command.
        before = callprofile.await_written(folder, discard=True)
        began_unix_ns = clock.unix_ns()
        words = testbed.client_command(command)
        try:
            status = programs.to_end(words, programs.client_environment(testbed))
        except OSError as error:
            raise InputError("COMMAND", command[0], str(error.strerror)) from error
        except KeyboardInterrupt:
            notify(f"interrupted; the calls traced so far are in {folder}")
            raise
        # The profile ends here, because later calls, such as those of the testbed's shutdown, are
        # not work of the command.
        after = callprofile.await_written(folder)
    kept = write_increase(folder, folder, before, after, began_unix_ns, host)
    if status:
        raise RunFailed(f"{shlex.join(command)} ended with {status}; traced in {folder}")
    if not kept:
        raise RunFailed(f"{shlex.join(command)} made no call of {name}: nothing was traced")
    return profile([folder])


def _record_mounted(
    kind: type[BaseTestbed],
    name: str,
    values: dict[str, str],
    command: Sequence[str],
    folder: Path,
    notify: Callable[[str], None],
) -> TraceProfile:
    """Runs a client command on a testbed that has server counters instead of traced JVMs. This
    function is the counterpart of `record_command` for such testbeds. The command runs in the
    directory where the testbed is mounted. Returns the profile of the calls that the servers
    counted. Raises InputError if the testbed has no server counters, and RunFailed if the command
    fails."""
    if not issubclass(kind, Counting):
        raise InputError("--on", name, "can neither be traced nor count calls")
    folder.mkdir(exist_ok=True)
    with kind.up(values, notify=notify) as testbed:
        status = counter_profiles.record(testbed, name, command, folder)
    if status:
        raise RunFailed(f"{shlex.join(command)} ended with {status}; traced in {folder}")
    for path in sorted(folder.glob(f"*{callprofile.TRACE_SUFFIX}")):
        notify(f"single calls: {path}")
    return profile([folder])


def against(
    found: TraceProfile, files: Sequence[Path], reading: Reading | None = None
) -> TraceAnalysis:
    """Returns the profile `found` together with its significant changes since an earlier trace.

    `files`: the files of the earlier trace. `reading`: the options with which these files are read.
    `found` must have been read with the same options.
    """
    compared = cohort.compare(profile(files, reading), found)
    return TraceAnalysis.of(found).model_copy(update={"compared": compared})


def with_cohorts(
    found: TraceProfile, files: Sequence[Path], kind: str, reading: Reading
) -> TraceAnalysis:
    """Returns the profile `found` together with the significant differences between groups of calls
    (cohorts). `found`: the profile of all trace files in `files`.

    `kind`: how the calls are grouped, such as "slow" (slow traces against the others).
    """
    here = existing(files)
    has_sums = not reading.format and of_jvms(here)
    compared = trace_cohorts.compared(found, here, has_sums, kind, reading)
    return TraceAnalysis.of(found).model_copy(update={"compared": compared})


def modelled(found: TraceProfile, scenario: Scenario) -> TraceAnalysis:
    """Returns the profile `found` together with a comparison of step times. The traced steps are
    compared with those that the sequence model predicts for the first configuration of the
    scenario. Raises InputError if none of the modelled steps was traced."""
    point = check(scenario)[0]
    model = discover.model(MODEL)
    steps = model.run(point).steps
    named = discover.file_system(point.scenario.file_system.name).traced
    rows = traced_steps.compared(found.roots, steps, named)
    if not any(row.traced and row.modelled_s is not None for row in rows):
        operations = ", ".join(sorted({step.operation for step in steps}))
        allowed = f"describes {operations}, none of which was traced"
        raise InputError("--model", scenario.name, allowed)
    return TraceAnalysis.of(found).model_copy(update={"modelled": rows})


def write_trace_page(found: TraceProfile, files: Sequence[Path], output: Output) -> None:
    """Writes an HTML page that shows one profile, without a scenario. `files`: the files from which
    the profile was read."""
    title = f"{found.spans:,} calls in {trees_text(found.trees)}"
    from dfslab.report import page as pages

    output.write(pages.render_trace(found, "Trace", title, files))


def folded(files: Sequence[Path], reading: Reading) -> str:
    """The merged call trees of the files as folded stacks, the text format of flame graph tools."""
    found = existing(files)
    if not reading.format and of_jvms(found):
        reading.refuse_for_sums()
        return callprofile.folded(callprofile.merge(read_profiles(found)))
    return tracing.folded(found, reading)


def exported(files: Sequence[Path], form: str, reading: Reading, scheduler: str = "") -> Written:
    """Converts traces to the format of another viewer. Returns the converted traces together with a
    note on what this format cannot represent. `form`: the name of the exporter. Raises InputError
    if the exporter cannot convert these files."""
    exporter = chosen(form)
    found = existing(files)
    of_spans = bool(reading.format) or not of_jvms(found)
    if of_spans and exporter.write_spans is not None:
        return exporter.write_spans(found, reading)
    if exporter.write is None:
        raise InputError("--export", form, exporter.refused)
    return Written(exporter.write(profile(files, reading, scheduler)))


def chosen(form: str) -> TraceExporter:
    """The exporter of traces named `form`. Raises InputError with the known names if there is
    none."""
    found = exporters.find(TraceExporter, form)
    if found is None:
        known = ", ".join(exporters.exporters(TraceExporter))
        raise InputError("--export", form, f"must be one of {known}")
    return found


def import_traces(
    files: Sequence[Path],
    output: Output | None,
    into: Path | None = None,
    label: str = "",
    reading: Reading | None = None,
    scheduler: str = "",
) -> TraceProfile:
    """Reads trace files into one profile, stores it and returns it.

    The profile is stored as JSON in the file `output`, or as tables in the folder `into`. In these
    tables, `label` identifies this trace. Raises InputError if neither `output` nor `into` is
    given, if one of them cannot be written, or if the folder already has tables with this label.
    """
    if not output and not into:
        raise InputError("--output", None, "is missing; give --output FILE or --into FOLDER")
    if output is not None:
        output.check(files)
    label = label or re.sub("[^A-Za-z0-9_-]", "_", files[0].stem)[:64].lstrip("_-") or "trace"
    if into and not into.parent.is_dir():
        raise InputError("--into", str(into), "its directory does not exist")
    if into and into.exists() and not into.is_dir():
        raise InputError("--into", str(into), "is no folder")
    if into:
        check_writable("--into", into if into.exists() else into.parent)
    if into and any(into.glob(f"{label}.*.parquet")):
        raise InputError("--label", label, f"is in {into} already; --label names this one")
    found = profile(files, reading, scheduler)
    if output:
        output.write(json.dumps(plain(found)))
    if into:
        trace_store.write(found, into, label)
    return found


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Value, ...]]]:
    """Runs an SQL query on the tables in a folder. Returns the names of the columns and the
    rows."""
    return trace_store.query(folder, sql)


def receive(
    folder: Path,
    port: int,
    interval_s: float,
    duration_s: float | None,
    notify: Callable[[str], None],
) -> ReceivedProfile:
    """Receives spans over HTTP on `port` and merges them into a profile. Stores the profile in
    `folder` and returns it. Ends after `duration_s` seconds, or at Ctrl-C if `duration_s` is None.

    The profile is written as JSON every `interval_s` seconds, and as Parquet tables at the end.
    Raises RunFailed if no span arrived.
    """
    new_folder("--into", folder)
    folder.mkdir(exist_ok=True)
    path = folder / RECEIVED
    found = receiving.receive(
        port,
        interval_s,
        duration_s,
        lambda text: write_atomically(path, text),
        lambda port: notify(f"receiving at http://{receiving.LOOPBACK}:{port}{receiving.PATH}"),
    )
    trace_store.write(found, folder, "received")
    if not found.spans:
        raise RunFailed(f"{folder}: no span came; refused: {found.received.refused}")
    return found
