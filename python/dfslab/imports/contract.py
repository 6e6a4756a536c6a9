"""The interface of importers. An importer reads a file of operations that another program recorded.

Each importer is one module that declares `TITLE` and `IMPORTER`. dfslab finds these modules in
three places:
- the folder `imports/formats`
- the folder `imports/formats` below each folder of DFSLAB_PATH
- the entry points of the group `dfslab.importers`

The parameter `form` of the workload `replay` names the importer that reads the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dfslab import discover
from dfslab.imports import plain_file
from dfslab.spec.streams.vocabulary import Given, OperationName

# Number of bytes at the start of a file by which its format is recognised.
HEAD_BYTES = 1 << 16
FORM = "workload.form"


@dataclass(frozen=True)
class FileCall:
    """An operation of a process on a file.

    `start_s`: start time in seconds, counted from an origin that the recording program chose.
    `new_path`: the path after a rename; "" for other operations. `call`, `duration_s`: name of the
    recorded call and its duration in seconds. `duration_s` is None if it was not recorded.

    One recorded call may become several operations. Then only the last operation has the name and
    the duration of the call.
    """

    start_s: float
    process: int
    operation: OperationName
    path: str
    offset_bytes: int = 0
    size_bytes: int = 0
    new_path: str = ""
    call: str = ""
    duration_s: float | None = None


@dataclass
class Replay:
    """Operations to replay. `given` has the operations in the form that the Rust core receives.

    - `starts_s`: start time of each operation, in seconds after the first operation or after the
      start of the recorded run.
    - `transfer_bytes`: size of one transfer. 0: the size of the largest operation.
    - `durations_s`: duration in seconds of the recorded call of each operation. None where it is
      unknown; empty for importers of streams.
    - `dropped`: number of recorded calls without an operation, by the name of the call. Such calls
      found the file in a wrong state, for example a close without an open.
    """

    given: list[Given] = field(default_factory=list)
    starts_s: list[float] = field(default_factory=list)
    transfer_bytes: int = 0
    durations_s: list[float | None] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def _forget(call: str, reason: str) -> None:
    """Ignores a recorded call that becomes no operation. The function is the default of
    `Recording.leave_out`."""


@dataclass(frozen=True)
class Recording:
    """Facts about a recording that the user states, because the recording does not contain them.

    `under`: a directory; only operations on files below this directory are imported. `started_in`:
    working directory of the first process, at which relative paths of this process start.
    `leave_out(call, reason)` is called for each recorded call that does not become an operation.
    """

    under: str = "/"
    started_in: str = "/"
    leave_out: Callable[[str, str], None] = field(default=_forget, compare=False)


@dataclass(frozen=True)
class Importer:
    """The attributes of all importers.

    `recognises`: returns whether a file has the importer's format. Its argument is the first
    HEAD_BYTES bytes of the file.
    """

    title: str
    recognises: Callable[[bytes], bool]


@dataclass(frozen=True)
class CallImporter(Importer):
    """An importer that reads the operations of processes on files, sorted by start time.

    `read` raises ValueError with a one-line reason if it cannot parse the file.
    """

    read: Callable[[Path, Recording], Iterable[FileCall]]


@dataclass(frozen=True)
class StreamImporter(Importer):
    """An importer that reads a recorded workload, in which each operation already belongs to a
    client.

    `read` raises ValueError with a one-line reason if it cannot parse the file.
    """

    read: Callable[[Path], Replay]


def importer(name: str) -> CallImporter | StreamImporter:
    """Returns the importer `name`. Raises DiscoveryError if its module declares no importer."""
    path = discover.named(discover.IMPORTERS, name, FORM)
    found = discover.declared(path, "IMPORTER", Importer)
    if not isinstance(found, CallImporter | StreamImporter):
        text = f"{path}: IMPORTER must be a CallImporter or a StreamImporter"
        raise discover.DiscoveryError(text)
    return found


def importers() -> dict[str, CallImporter | StreamImporter]:
    """Returns a dictionary of all importers with the importer's name as key. Raises DiscoveryError,
    which names the module, if a module is broken."""
    return {name: importer(name) for name in discover.members(discover.IMPORTERS)}


def recognised(path: Path) -> list[str]:
    """Returns the names of the importers that recognise the format of a file."""
    head = plain_file.beginning(path, HEAD_BYTES)
    return [name for name, one in importers().items() if one.recognises(head)]
