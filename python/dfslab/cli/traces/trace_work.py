"""Implementation of the commands on traces: record, read, merge, rank, draw."""

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
from dfslab.instruments import command as programs
from dfslab.instruments import trace as tracing
from dfslab.instruments.tracing import callprofile, counters
from dfslab.instruments.tracing import receive as receiving
from dfslab.instruments.tracing.reading import Reading
from dfslab.lazily import lazily
from dfslab.method import RunFailed
from dfslab.spec.check import check
from dfslab.spec.files import scratch
from dfslab.spec.files.outputs import STANDARD_OUTPUT, Output, write_atomically
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies import trace_profile
from dfslab.studies.traces import cohort, trace_store, traced_steps
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.capabilities import Traceable
from dfslab.testbeds.found import testbed_class
from dfslab.testbeds.mounted import MountedTestbed

if TYPE_CHECKING:
    from dfslab.report import page as pages
else:
    pages = lazily("dfslab.report.page")

Report = Callable[..., None]
RECEIVED = "received.json"
# The reader of the descriptions whose steps are compared with traced ones; needs no measurement.
MODEL = "sequence"


def record(scenario: Scenario, output: Output, report: Report) -> TraceProfile:
    """Trace the first configuration into an OTLP file (JSON where its name ends in .json)."""
    point = check(scenario)[0]
    output.check()
    with (
        access.session(notify=lambda text: report(0, 1, text)) as session,
        scratch.folder("trace") as folder,
    ):
        path = folder / f"trace{output.path.suffix}"
        tracing.record(point, 0, session, path)
        output.write(path.read_bytes())
        return tracing.profile([path])


def record_command(
    name: str,
    values: dict[str, str],
    command: Sequence[str],
    folder: Path,
    notify: Callable[[str], None],
) -> TraceProfile:
    """Run a client command on a testbed whose daemons, and the command's JVMs, are traced."""
    if str(folder) == STANDARD_OUTPUT:
        raise InputError("--output", str(folder), "must be a folder: --on writes several files")
    if folder.is_symlink() or folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--output", str(folder), "must be a new or an empty folder")
    if not folder.parent.is_dir():
        raise InputError("--output", str(folder), "its directory does not exist")
    kind = testbed_class(name, "--on")
    if not issubclass(kind, Traceable):
        return _record_mounted(kind, name, values, command, folder, notify)
    typed = kind.typed(values)
    folder.mkdir(exist_ok=True)
    with kind.up({**typed, **kind.traced(folder)}, notify=notify) as testbed:
        assert isinstance(testbed, Traceable)
        words = testbed.client_command(command)
        try:
            status = programs.to_end(words, programs.client_environment(testbed))
        except OSError as error:
            raise InputError("COMMAND", command[0], str(error.strerror)) from error
        except KeyboardInterrupt:
            notify(f"interrupted; what was traced until then is in {folder}")
            raise
        if words != list(command):
            # Processes in a host are killed with it, and write nothing then.
            callprofile.await_written(folder)
    if status:
        raise RunFailed(f"{shlex.join(command)} ended with {status}; traced in {folder}")
    return profile([folder])


def _record_mounted(
    kind: type[BaseTestbed],
    name: str,
    values: dict[str, str],
    command: Sequence[str],
    folder: Path,
    notify: Callable[[str], None],
) -> TraceProfile:
    """As `record_command`, on a testbed whose servers have counters, in the directory of its
    mount."""
    if not issubclass(kind, MountedTestbed):
        raise InputError("--on", name, "neither can its processes be traced nor do they count")
    folder.mkdir(exist_ok=True)
    with kind.up(values, notify=notify) as testbed:
        status = counters.record(testbed, name, command, folder)
    if status:
        raise RunFailed(f"{shlex.join(command)} ended with {status}; traced in {folder}")
    for path in sorted(folder.glob(f"*{callprofile.TRACE_SUFFIX}")):
        notify(f"single calls: {path}")
    return profile([folder])


def profile(
    files: Sequence[Path], reading: Reading | None = None, scheduler: str = ""
) -> TraceProfile:
    """One profile of OTLP files, or of the profiles that traced JVMs wrote.

    With a `scheduler` the workers of a Dask cluster read the files.
    """
    reading = reading or Reading()
    found = _existing(files)
    if reading.format or not _of_jvms(found):
        if scheduler:
            return tracing.spread(found, scheduler, reading)
        return tracing.profile(found, reading)
    reading.refuse_for_sums()
    read = _spread(found, scheduler) if scheduler else _profiles(found)
    return trace_profile.of_programs(read, found)


def against(
    found: TraceProfile, files: Sequence[Path], reading: Reading | None = None
) -> TraceAnalysis:
    """A profile compared with an earlier one, read with the same options: significant changes."""
    compared = cohort.compare(profile(files, reading), found)
    return TraceAnalysis.of(found).model_copy(update={"compared": compared})


def with_cohorts(
    found: TraceProfile, files: Sequence[Path], kind: str, reading: Reading
) -> TraceAnalysis:
    """A profile with the differences between the cohorts of its files."""
    here = _existing(files)
    of_jvms = not reading.format and _of_jvms(here)
    compared = trace_cohorts.compared(found, here, of_jvms, kind, reading)
    return TraceAnalysis.of(found).model_copy(update={"compared": compared})


def modelled(found: TraceProfile, scenario: Scenario) -> TraceAnalysis:
    """A profile compared with the sequence model of a scenario's first configuration."""
    point = check(scenario)[0]
    model = discover.model(MODEL)
    steps = model.run(point).steps
    named = discover.file_system(point.scenario.file_system.name).traced
    rows = traced_steps.compared(found.roots, steps, named)
    if not any(row.traced and row.modelled_s is not None for row in rows):
        operations = ", ".join(sorted({step.operation for step in steps}))
        raise InputError("--model", scenario.name, f"describes {operations}: not what was traced")
    return TraceAnalysis.of(found).model_copy(update={"modelled": rows})


def write_trace_page(found: TraceProfile, output: Output) -> None:
    """Write the page of traces only."""
    title = f"{found.spans:,} calls in {found.trees:,} call trees"
    output.write(pages.render_trace(found, "Trace", title))


def folded(files: Sequence[Path], reading: Reading) -> str:
    """A profile as folded stacks."""
    found = _existing(files)
    if not reading.format and _of_jvms(found):
        reading.refuse_for_sums()
        return callprofile.folded(callprofile.merge(_profiles(found)))
    return tracing.folded(found, reading)


def exported(files: Sequence[Path], form: str, reading: Reading, scheduler: str = "") -> Written:
    """Traces in the format of another viewer, and a line about what was left out."""
    exporter = chosen(form)
    found = _existing(files)
    of_spans = bool(reading.format) or not _of_jvms(found)
    if of_spans and exporter.write_spans is not None:
        return exporter.write_spans(found, reading)
    if exporter.write is None:
        raise InputError("--export", form, exporter.refused)
    return Written(exporter.write(profile(files, reading, scheduler)))


def chosen(form: str) -> TraceExporter:
    """The exporter of that name. InputError with the known names where there is none."""
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
    """The profile of traces, stored as JSON or as tables."""
    if not output and not into:
        raise InputError("--output", "", "where to? --output FILE or --into FOLDER")
    if output is not None:
        output.check(files)
    label = label or re.sub("[^A-Za-z0-9_-]", "_", files[0].stem)[:64].lstrip("_-") or "trace"
    if into and not into.parent.is_dir():
        raise InputError("--into", str(into), "its directory does not exist")
    if into and into.exists() and not into.is_dir():
        raise InputError("--into", str(into), "is no folder")
    if into and any(into.glob(f"{label}.*.parquet")):
        raise InputError("--label", label, f"is in {into} already; --label names this one")
    found = profile(files, reading, scheduler)
    if output:
        output.write(json.dumps(plain(found)))
    if into:
        trace_store.write(found, into, label)
    return found


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Value, ...]]]:
    """The result of a query on the tables of a folder."""
    return trace_store.query(folder, sql)


def receive(
    folder: Path,
    port: int,
    interval_s: float,
    duration_s: float | None,
    notify: Callable[[str], None],
) -> ReceivedProfile:
    """Receive into a folder until interrupted: the profile at every interval, tables at the end."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--into", str(folder), "must be a new or an empty folder")
    if not folder.parent.is_dir():
        raise InputError("--into", str(folder), "its directory does not exist")
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


def _profiles(files: Sequence[Path]) -> list[tuple[str, callprofile.File]]:
    """Profiles of traced JVMs, and counters of servers converted to profiles."""
    found = []
    for path in files:
        whole = callprofile.is_profile(path)
        found += [(str(path), callprofile.read(path))] if whole else counters.read(path)
    return found


def _spread(files: Sequence[Path], scheduler: str) -> list[tuple[str, callprofile.File]]:
    """The profiles, read by the workers of a Dask cluster, in the order of the files' names."""
    # Importing Dask takes half a second, so only this function does.
    from dfslab.fleet import dask

    found = []
    for answer in dask.each(scheduler, [(_read_at_node, str(path)) for path in sorted(files)]):
        if isinstance(answer, str):
            raise InputError("trace", None, answer)
        found += answer
    return found


def _read_at_node(path: str) -> list[tuple[str, callprofile.File]] | str:
    """The profiles of a file, or an error text: our exceptions cannot be pickled."""
    try:
        return _profiles([Path(path)])
    except (InputError, OSError) as error:
        return str(error)


def _of_jvms(files: Sequence[Path]) -> bool:
    """Whether the files hold sums of calls (of traced JVMs, of servers' counters), not spans.

    InputError when only some do.
    """
    profiles = [path for path in files if callprofile.is_profile(path) or counters.recognise(path)]
    if profiles and len(profiles) < len(files):
        other = next(path for path in files if path not in profiles)
        raise InputError("trace", str(other), "spans and profiles are reported apart")
    return bool(profiles)


def _existing(files: Sequence[Path]) -> list[Path]:
    found = callprofile.expand(files)
    if not found:
        raise InputError("trace", str(files[0]), f"holds no *{callprofile.SUFFIX}")
    for path in found:
        if not path.is_file():
            raise InputError("trace", str(path), "no such file")
    return found
