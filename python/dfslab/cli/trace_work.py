"""What the commands on traces do: record, read, merge, rank, draw."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dfslab.cli.bed_work import bed_module
from dfslab.instruments import access, callprofile
from dfslab.instruments import trace as tracing
from dfslab.method import RunFailed
from dfslab.report import page as pages
from dfslab.report import trace_export
from dfslab.spec.check import check
from dfslab.spec.model import InputError
from dfslab.spec.scenario import Scenario
from dfslab.studies import cohort, gain, parts, store

Report = Callable[..., None]
VALIDATED = ("sequence", "regression", "mean")
INSTRUMENTS = ("measure", "trace")
WHOLE_FILES_FROM_BYTES = 1_000_000


def record(scenario: Scenario, output: Path, report: Report) -> dict[str, Any]:
    """Trace the first configuration into an OTLP file of its own."""
    point = check(scenario)[0]
    if output.exists():
        raise InputError("--output", str(output), "exists already; dfslab does not overwrite it")
    if not output.parent.is_dir():
        raise InputError("--output", str(output), "its directory does not exist")
    with access.session(notify=lambda text: report(0, 1, text)) as session:
        tracing.record(point, 0, session, output)
    return tracing.profile([output])


def record_command(
    name: str, values: dict[str, str], command: Sequence[str], folder: Path,
    notify: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """Run a client command against a bed whose daemons, and the command's JVMs, are traced."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("--output", str(folder), "must be a new or an empty folder")
    if not folder.parent.is_dir():
        raise InputError("--output", str(folder), "its directory does not exist")
    module = bed_module(name, "--on")
    if not hasattr(module.Bed, "client_environment"):
        raise InputError("--on", name, "its processes cannot be traced; hdfs can")
    told = module.parse_parameters(values)
    folder.mkdir(exist_ok=True)
    traced = {**told, "trace": True, "trace_directory": str(folder)}
    with module.Bed.up(traced, notify=notify) as bed:
        try:
            # Standard output is for the profile.
            done = subprocess.run(command, env=bed.client_environment(), stdout=sys.stderr)
        except OSError as error:
            raise InputError("COMMAND", command[0], str(error.strerror)) from error
    if done.returncode:
        raise RunFailed(f"{shlex.join(command)} ended with {done.returncode}; traced in {folder}")
    return profile([folder])


def profile(files: Sequence[Path]) -> dict[str, Any]:
    """One profile of OTLP files, or of the profiles that traced JVMs wrote."""
    found = _existing(files)
    if not _of_jvms(found):
        return tracing.profile(found)
    read = [(str(path), callprofile.read(path)) for path in found]
    top = callprofile.merge(read)
    runnable_ns: dict[str, int] = defaultdict(int)
    for _, file in read:
        # As paths name it: a role, or one process of several.
        runnable_ns[file.service] += file.processor_ns + file.starved_ns
    return {**callprofile.profile(found), "savings": gain.savings(top),
            "parts": parts.ranking(top, runnable_ns)}  # fmt: skip


def against(found: dict[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    """A profile beside an earlier one: which steps changed for sure."""
    return {**found, "compared": cohort.compare(profile(files), found)}


def write_trace_page(found: dict[str, Any], path: Path) -> None:
    """The page of traces alone."""
    if not path.parent.is_dir():
        raise InputError("--page", str(path), "its directory does not exist")
    title = f"{found['spans']:,} calls in {found['trees']:,} call trees"
    store.write_atomically(path, pages.render_trace(found, "Trace", title))


def exported(found: dict[str, Any], form: str) -> str:
    """A profile for another viewer."""
    if form not in trace_export.FORMS:
        raise InputError("--export", form, f"must be {' or '.join(trace_export.FORMS)}")
    return trace_export.export(found, form)


def folded(files: Sequence[Path]) -> str:
    """The same as folded stacks."""
    found = _existing(files)
    return (callprofile if _of_jvms(found) else tracing).folded(found)


def import_traces(files: Sequence[Path], output: Path) -> dict[str, Any]:
    """The profile of OTLP files, kept as JSON."""
    found = profile(files)
    store.write_atomically(output, json.dumps(found))
    return found


def _of_jvms(files: Sequence[Path]) -> bool:
    """Whether the files are profiles of traced JVMs. InputError when only some are."""
    profiles = [path for path in files if callprofile.is_profile(path)]
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
