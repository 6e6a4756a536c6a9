"""The interface of exporters, which write documents of dfslab in other programs' formats.

An exporter is one module that declares `TITLE` and `EXPORTER`. It is found in `exports/formats`, in
the same folder of a folder of DFSLAB_PATH, or behind an entry point of the group
`dfslab.exporters`. The exporter's class states what it takes, which determines the command that
offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dfslab import discover
from dfslab.documents.traces.trace_profile import TraceProfile
from dfslab.instruments.tracing.reading import Reading
from dfslab.result import Result
from dfslab.studies.contract import FinishedRun

if TYPE_CHECKING:
    from dfslab.report.diagrams.uml import Uml  # imports SymPy, which only descriptions need

KEY = "exporter"


@dataclass(frozen=True)
class Exporter:
    """The attributes that all exporters have; `suffix` is that of the written files, such as
    ".csv"."""

    title: str
    suffix: str


@dataclass(frozen=True)
class Companion:
    """An exporter of a second file, which has the name of the first file with another suffix."""

    suffix: str
    write: Callable[[Sequence[Result]], bytes]


@dataclass(frozen=True)
class ResultExporter(Exporter):
    """Writes the results of a run (`dfslab report RUN --as NAME`).

    `companion`: second file, which is written only if the first is written to a file.
    """

    write: Callable[[Sequence[Result]], bytes]
    companion: Companion | None = None


@dataclass(frozen=True)
class RunExporter(Exporter):
    """Writes a run with the findings of all studies (`dfslab report RUN --as NAME`)."""

    write: Callable[[FinishedRun], bytes]


@dataclass(frozen=True)
class Written:
    """The exported document of a trace; `note` states what was left out of the document, if
    anything."""

    document: bytes
    note: str = ""


@dataclass(frozen=True)
class TraceExporter(Exporter):
    """Writes traces (`dfslab trace report FILES --export NAME`).

    `write` takes the merged call trees. `write_spans` takes files of spans, where more can be
    written than call trees hold; one of the two is enough. `refused`: why files without spans
    cannot be written, if only `write_spans` is given.
    """

    write: Callable[[TraceProfile], bytes] | None = None
    write_spans: Callable[[Sequence[Path], Reading], Written] | None = None
    refused: str = ""

    def __post_init__(self) -> None:
        assert self.write is not None or (self.write_spans is not None and self.refused)


@dataclass(frozen=True)
class DescriptionExporter(Exporter):
    """Writes the UML model of a file system's description (`dfslab show filesystem --as NAME`)."""

    write: Callable[[Uml], bytes]


KindOf = TypeVar("KindOf", bound=Exporter)


def exporter(name: str) -> Exporter:
    """The exporter `name`. DiscoveryError if its module declares none."""
    path = discover.named(discover.EXPORTERS, name, KEY)
    found = discover.declared(path, "EXPORTER", Exporter)
    if not isinstance(found, ResultExporter | RunExporter | TraceExporter | DescriptionExporter):
        kinds = "a ResultExporter, RunExporter, TraceExporter or DescriptionExporter"
        raise discover.DiscoveryError(f"{path}: EXPORTER must be {kinds}")
    return found


def exporters(kind: type[KindOf]) -> dict[str, KindOf]:
    """Name -> exporter, for all exporters of one class. DiscoveryError names a broken module."""
    found = {name: exporter(name) for name in discover.members(discover.EXPORTERS)}
    return {name: one for name, one in found.items() if isinstance(one, kind)}


def find(kind: type[KindOf], name: str) -> KindOf | None:
    """The exporter `name` if it is of this class, else None; no other exporter is imported."""
    if name not in discover.members(discover.EXPORTERS):
        return None
    found = exporter(name)
    return found if isinstance(found, kind) else None
