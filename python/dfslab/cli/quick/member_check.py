"""Checks the members (plug-ins) outside this package, for `dfslab doctor --members`.

Each member is loaded and used as far as this is possible without a file system and without files of
the user. `tests/contract` does the same with the members of this package.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab import discover, extras
from dfslab.documents.evidence import Evidence
from dfslab.documents.table import Table, heads, words
from dfslab.exports.contract import exporter
from dfslab.imports.contract import importer
from dfslab.imports.tool_report import reader
from dfslab.models.tree.prediction import Situation
from dfslab.nets.contract import net_format
from dfslab.report import description
from dfslab.report.contract import page_section
from dfslab.spec.check import check as check_scenario
from dfslab.spec.input_error import InputError
from dfslab.spec.members import installed
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.spec.steps.operation import step_names
from dfslab.spec.streams.stream import stream_spec
from dfslab.spec.systems.component_net import ComponentNet
from dfslab.spec.systems.counter_format import CounterFormat
from dfslab.spec.systems.filesystem import FileSystem
from dfslab.spec.systems.mounts import KnownMount
from dfslab.studies import contract as studies
from dfslab.studies.checks import rule as rules
from dfslab.studies.contract import FinishedRun
from dfslab.testbeds.found import testbed_class

# File sizes and numbers of clients with which the description of a file system is evaluated.
SIZES = ("1 B", "1 MiB", "300 MiB")
CLIENTS = (1, 40)
# Predicted rates may differ from the bounds, and sums of fractions from 1, by rounding errors.
ROUNDING = 1e-3
# The optional files of a file system's folder: what each declares, and of which type.
OPTIONAL: Mapping[str, tuple[str, type]] = {
    "existing.py": ("EXISTING", KnownMount),
    "counters.py": ("FORMAT", CounterFormat),
    "net.py": ("NET", ComponentNet),
}


@dataclass(frozen=True)
class CheckedMember:
    """A member that was checked. `kind`: its type, such as "study". `origin`: its file or entry
    point. `problem`: the first violation of the interface; "" if there is none. `note`: what a
    description lacks so that its predictions may be wrong; "" if nothing is known to be missing."""

    kind: str
    name: str
    origin: str
    problem: str = ""
    note: str = ""


def missing_folders() -> list[Path]:
    """Returns the folders that DFSLAB_PATH names and that do not exist."""
    return [one for one in discover.roots() if not one.is_dir()]


def folders_without_members() -> list[Path]:
    """Returns the folders that DFSLAB_PATH names and that exist, but have no subfolder in which
    members are searched, such as "filesystems"."""
    return [
        one
        for one in discover.roots()[1:]
        if one.is_dir() and not any((one / room.folder).is_dir() for room in discover.ROOMS)
    ]


def check_all() -> list[CheckedMember]:
    """Checks every member outside this package. The first elements of the list are entry points in
    groups that dfslab does not read."""
    found = [*_unread_groups()]
    for room, check in CHECKS.items():
        try:
            outside = discover.outside(room)
        except discover.DiscoveryError as error:
            found.append(CheckedMember(room.noun, "", room.folder, str(error)))
            continue
        found += [_checked(room, name, path, check) for name, path in outside.items()]
    return found


def table(found: list[CheckedMember]) -> Table:
    """Returns the members as a table. The problems are not in it, because they are long lines."""
    rows = [
        tuple(map(words, (one.kind, one.name, "wrong" if one.problem else "works", one.origin)))
        for one in found
    ]
    columns = heads("type", "name", "state", "from", left=("name", "state", "from"))
    return Table("Members outside this package", columns, rows)


def problems(found: list[CheckedMember]) -> list[str]:
    """Returns one line for each member with a problem. The line begins with the member's file or
    entry point."""
    return [
        one.problem if one.problem.startswith(("/", one.origin)) else f"{one.origin}: {one.problem}"
        for one in found
        if one.problem
    ]


def notes(found: list[CheckedMember]) -> list[str]:
    """Returns one line for each member with a note. The line begins with the member's file or entry
    point."""
    return [f"{one.origin}: {one.note}" for one in found if one.note]


def _unread_groups() -> Iterator[CheckedMember]:
    known = [room.group for room in discover.ROOMS]
    for one in installed.entry_points(tuple(sys.path)):
        if one.group not in known:
            allowed = f"group {one.group} is none of {', '.join(known)}"
            yield CheckedMember("entry point", one.name, f"entry point {one.module}", allowed)


def _checked(
    room: discover.Room, name: str, path: Path, check: Callable[[str, Path], Iterator[str]]
) -> CheckedMember:
    """Checks one member. An exception of its code is a problem that names the file and line."""
    try:
        with discover.blamed(path):
            problem = next(check(name, path), "")
            note = _lacking(name) if room is discover.FILE_SYSTEMS and not problem else ""
    except (discover.DiscoveryError, InputError) as error:
        problem, note = str(error), ""
    except ModuleNotFoundError as error:
        problem, note = extras.missing(error) or str(error), ""
    return CheckedMember(room.noun, name, discover.source(path), problem, note)


def _lacking(name: str) -> str:
    """Returns what the description of a file system lacks; "" if nothing."""
    system = discover.file_system(name)
    return "; ".join(description.notes(system, list(system.operations)))


def _file_system(name: str, path: Path) -> Iterator[str]:
    discover.title(path / "facts.py")
    system = discover.file_system(name)
    for row in description.parameter_rows(system):
        if not row.parameter.meaning:
            yield f"{path / 'facts.py'}: the parameter {row.parameter.key} has no meaning"
    for operation, tree in system.operations.items():
        if not step_names(tree):
            yield f"{path / 'operations.py'}: the operation {operation} has no step with a name"
    for operation in ("read", "write"):
        if operation in system.operations:
            yield from _predictions(system, operation)
    if system.has_testbed:
        testbed_class(name, "file_system.name")
    for file, (declared, kind) in OPTIONAL.items():
        if (path / file).exists():
            discover.declared(path / file, declared, kind)


def _predictions(system: FileSystem, operation: str) -> Iterator[str]:
    """Yields the predictions of an operation that are not finite or outside their bounds."""
    nodes = [{"name": one.name, "roles": {one.name: one.instances}} for one in system.roles]
    for size in SIZES:
        for clients in CLIENTS:
            keys = {"name": f"sequential_{operation}", "file_size": size, "clients": clients}
            scenario = _scenario(nodes, system.name, keys)
            check_scenario(scenario)
            situation = Situation(scenario)
            found = situation.predict(situation.constants)
            low, high = found.bounds_per_s
            within = low * (1 - ROUNDING) <= found.rate_per_s <= high * (1 + ROUNDING)
            if not math.isfinite(found.rate_per_s) or not within:
                where = f"{operation}, {size}, {clients} clients"
                yield f"{where}: {found.rate_per_s:g}/s is outside its bounds {low:g} to {high:g}/s"


def _scenario(
    nodes: Sequence[Mapping[str, object]], system: str, workload: Mapping[str, object]
) -> Scenario:
    return build(
        Scenario,
        {
            "name": "member",
            "deployment": {"node": nodes},
            "file_system": {"name": system},
            "workload": workload,
            "run": {"methods": ["sequence"]},
        },
    )


def _local(workload: str) -> Scenario:
    node: dict[str, object] = {"name": "machine", "roles": {"client": 1, "storage": 1}}
    return _scenario([node], "local", {"name": workload})


def _nothing() -> FinishedRun:
    """Returns a run without results."""
    return FinishedRun(_local("sequential_read"), [])


def _workload(name: str, path: Path) -> Iterator[str]:
    discover.title(path)
    workload = discover.workload(name)
    if workload.command is not None:
        return
    stream_spec(_local(name))
    shares = workload.mix(workload.parameters())
    if abs(sum(shares.values()) - 1) > ROUNDING:
        yield f"the fractions of its operations have the sum {sum(shares.values()):g}, must be 1"


def _method(name: str, path: Path) -> Iterator[str]:
    found = discover.method(name)
    if found.name != name:
        yield f"makes the method {found.name!r}, must be {name!r}, as in NAMES"


def _study(name: str, path: Path) -> Iterator[str]:
    study, nothing = studies.find(name), _nothing()
    studies.all_studies()
    if study.needs.are_met(nothing):
        studies.check_result(study, study.run(nothing, lambda *_: None), nothing)
    yield from ()


def _section(name: str, path: Path) -> Iterator[str]:
    discover.title(path)
    section = page_section(name)
    if section.render(_nothing()) is not None:
        yield "renders a run without results, must return None"


def _exporter(name: str, path: Path) -> Iterator[str]:
    discover.title(path)
    exporter(name)
    yield from ()


def _importer(name: str, path: Path) -> Iterator[str]:
    discover.title(path)
    yield from _greedy(importer(name).recognises)


def _result_reader(name: str, path: Path) -> Iterator[str]:
    discover.title(path)
    yield from _greedy(reader(name).recognises)


def _net_format(name: str, path: Path) -> Iterator[str]:
    discover.title(path)
    yield from _greedy(net_format(name).recognises)


def _greedy(recognises: Callable[[bytes], bool]) -> Iterator[str]:
    """Yields a problem if a file of another program is recognised."""
    for head in (b"", b"a file of another program\n"):
        if recognises(head):
            yield f"recognises {head!r}, so other readers' files would be ambiguous"


def _rule(name: str, path: Path) -> Iterator[str]:
    rules.rules()
    (found,) = [one for one in rules.rules() if one.name == name]
    if found.finding(Evidence()) is not None:
        yield "finds a contradiction in no evidence, must return None if a fact is unknown"


CHECKS: Mapping[discover.Room, Callable[[str, Path], Iterator[str]]] = {
    discover.FILE_SYSTEMS: _file_system,
    discover.WORKLOADS: _workload,
    discover.INSTRUMENTS: _method,
    discover.MODELS: _method,
    discover.STUDIES: _study,
    discover.SECTIONS: _section,
    discover.EXPORTERS: _exporter,
    discover.IMPORTERS: _importer,
    discover.RESULT_READERS: _result_reader,
    discover.NET_FORMATS: _net_format,
    discover.RULES: _rule,
}
