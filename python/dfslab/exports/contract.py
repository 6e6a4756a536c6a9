"""The interface of exporters, which write documents of dfslab in the formats of other programs.

An exporter is one module that declares `TITLE` and `EXPORTER`. dfslab finds the module in
`exports/formats`, in a folder `exports/formats` below a folder of DFSLAB_PATH, or through an entry
point of the group `dfslab.exporters`. `EXPORTER` is an object of one of the classes below. The
class of the object determines what the exporter exports (such as results or traces) and which
command offers the exporter.
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
from dfslab.spec.members.member_error import MemberValueError
from dfslab.studies.contract import FinishedRun

if TYPE_CHECKING:
    from dfslab.report.diagrams.uml import Uml  # not at run time, because `uml` imports SymPy

KEY = "exporter"


@dataclass(frozen=True)
class Exporter:
    """The attributes that all exporters have.

    `suffix`: suffix of the written files, such as ".csv".
    """

    title: str
    suffix: str


@dataclass(frozen=True)
class Companion:
    """An exporter that writes a second file next to the file of a `ResultExporter`. The names of
    the two files differ only in the suffix."""

    suffix: str
    write: Callable[[Sequence[Result]], bytes]


@dataclass(frozen=True)
class ResultExporter(Exporter):
    """Exports the results of a run (`dfslab export RUN --as NAME`).

    `write` returns the exported document. `companion` is the exporter of a second file. The second
    exporter is used only if the document is written to a file; on standard output, there is no
    second file.
    """

    write: Callable[[Sequence[Result]], bytes]
    companion: Companion | None = None


@dataclass(frozen=True)
class RunExporter(Exporter):
    """Exports a run together with the results of all studies of the run (`dfslab export RUN --as
    NAME`)."""

    write: Callable[[FinishedRun], bytes]


@dataclass(frozen=True)
class Written:
    """The exported document of a trace. `note` is a line of text on the parts of the trace that the
    document lacks; it is empty if the document is complete."""

    document: bytes
    note: str = ""


@dataclass(frozen=True)
class TraceExporter(Exporter):
    """Exports traces (`dfslab trace report FILES --export NAME`).

    An exporter needs only one of two functions. `write` receives merged call trees. `write_spans`
    receives files of spans, which have more details. An exporter without `write` cannot export
    files that have no spans: `refused` is the reason that is then reported.
    """

    write: Callable[[TraceProfile], bytes] | None = None
    write_spans: Callable[[Sequence[Path], Reading], Written] | None = None
    refused: str = ""

    def __post_init__(self) -> None:
        if self.write is None and not (self.write_spans is not None and self.refused):
            text = "needs write, or write_spans and the reason `refused` for files without spans"
            raise MemberValueError(f"exporter {self.title!r} {text}")


@dataclass(frozen=True)
class DescriptionExporter(Exporter):
    """Exports the UML model of a file system's description (`dfslab show filesystem --as NAME`)."""

    write: Callable[[Uml], bytes]


KindOf = TypeVar("KindOf", bound=Exporter)


def exporter(name: str) -> Exporter:
    """Returns the exporter `name`. Raises DiscoveryError if its module declares no exporter."""
    path = discover.named(discover.EXPORTERS, name, KEY)
    found = discover.declared(path, "EXPORTER", Exporter)
    if not isinstance(found, ResultExporter | RunExporter | TraceExporter | DescriptionExporter):
        kinds = "a ResultExporter, RunExporter, TraceExporter or DescriptionExporter"
        raise discover.DiscoveryError(f"{path}: EXPORTER must be {kinds}")
    return found


def exporters(kind: type[KindOf]) -> dict[str, KindOf]:
    """Returns all exporters of the class `kind` by name.

    Raises DiscoveryError if a module is broken; the message names the module.
    """
    found = {name: exporter(name) for name in discover.members(discover.EXPORTERS)}
    return {name: one for name, one in found.items() if isinstance(one, kind)}


def find(kind: type[KindOf], name: str) -> KindOf | None:
    """Returns the exporter called `name`; None if there is none, or if it is not of the class
    `kind`. Only the module of this exporter is imported."""
    if name not in discover.members(discover.EXPORTERS):
        return None
    found = exporter(name)
    return found if isinstance(found, kind) else None
