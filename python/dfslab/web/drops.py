"""Takes files that a user drops on a page: results of other tools, traces, recordings of file
calls, and nets. Each file is stored in a separate folder below the folder of the runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from markupsafe import Markup

from dfslab.documents.document import Document
from dfslab.documents.table import Tab, Table, count, heads, words
from dfslab.imports import contract
from dfslab.imports.survey import TraceRequest, TraceSurvey, survey
from dfslab.instruments import trace
from dfslab.method import RunFailed
from dfslab.nets import files
from dfslab.report import page
from dfslab.report.page_table import drawn, note
from dfslab.report.trees_text import trees_text
from dfslab.spec import units
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.studies.runs.imported import import_files, is_known

# Folder of the dropped files, below the folder of the runs.
FOLDER = ".dropped"
# Largest size in bytes of one dropped file, and largest total size of all stored dropped files.
MOST_BYTES, MOST_KEPT_BYTES = 256 << 20, 2 << 30
LONGEST_NAME = 80
KEY_DIGITS = 24
KEY = "FILE"
TAKEN = (
    "takes results of other tools (fio, IOR, mdtest, …), traces (OTLP, Jaeger, …), recordings of "
    "file calls (strace, blkparse, Darshan) and nets (.pnml, .cpn, .json)"
)
DroppedKind = Literal["results", "calls", "net", "trace"]


class Dropped(Document):
    """A dropped file that was accepted. `address`: path of the page that shows the file."""

    kind: DroppedKind
    name: str
    address: str


async def keep(runs: Path, name: str, chunks: AsyncIterator[bytes]) -> Path:
    """Stores a dropped file, whose content arrives in parts, and returns its path. An earlier
    stored file with the same content is replaced.

    Raises InputError if the file is empty or larger than MOST_BYTES, or if the stored files would
    take more than MOST_KEPT_BYTES.
    """
    home = runs / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with tempfile.NamedTemporaryFile(dir=home, prefix=".part-") as part:
        async for chunk in chunks:
            size += len(chunk)
            if size > MOST_BYTES:
                raise InputError(KEY, name, f"must be at most {MOST_BYTES >> 20} MiB")
            digest.update(chunk)
            part.write(chunk)
        part.flush()
        if not size:
            raise InputError(KEY, name, "is empty")
        folder = home / digest.hexdigest()[:KEY_DIGITS]
        if not any(folder.glob("*")):
            _check_room(home, name, size)
        folder.mkdir(exist_ok=True)
        path = folder / plain_name(name)
        for other in folder.glob("*"):
            # The content is already stored under a different name. That file is removed, because
            # its suffix may stand for a different format than the suffix of the new name.
            other.unlink()
        os.link(part.name, path)
    return path


def _check_room(home: Path, name: str, size: int) -> None:
    """Raises InputError if the stored files and a new file of `size` bytes would take more than
    MOST_KEPT_BYTES."""
    kept = sum(one.stat().st_size for one in home.glob("*/*") if one.is_file())
    if kept + size > MOST_KEPT_BYTES:
        held, most = units.text(kept, "B"), units.text(MOST_KEPT_BYTES, "B")
        allowed = f"no room: {home} holds {held} of at most {most}; remove files there"
        raise InputError(KEY, name, allowed)


def _remove(path: Path) -> None:
    """Removes a stored file and its folder."""
    with suppress(OSError):
        path.unlink()
        path.parent.rmdir()


def plain_name(name: str) -> str:
    """Returns a file name without folders, in which unusual characters are replaced by "-". A long
    name is shortened at its start, because formats are recognised by the suffix."""
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w.-]+", "-", last)[-LONGEST_NAME:].lstrip(".-") or "file"


def find(runs: Path, key: str) -> Path:
    """Returns the path of the stored file with the key `key`. Raises InputError if there is no such
    file."""
    if re.fullmatch(rf"[0-9a-f]{{{KEY_DIGITS}}}", key):
        for path in sorted((runs / FOLDER / key).glob("*")):
            if path.is_file() and not path.is_symlink():
                return path
    raise InputError(KEY, key, "is not kept; drop it again")


def take(path: Path, runs: Path) -> Dropped:
    """Recognises the format of a stored file, and imports the file as a run if it has results. If
    the file cannot be read, it is removed, and InputError gives the reason."""
    try:
        return _taken(path, runs)
    except InputError as error:
        _remove(path)
        raise _by_name(error, path) from error
    except Exception:
        _remove(path)
        raise


def _taken(path: Path, runs: Path) -> Dropped:
    kind = kind_of(path)
    if kind == "results":
        folder = import_files([path], runs).folder
        address = f"/runs/{folder.relative_to(runs).as_posix()}"
    elif kind == "net":
        address = f"/net?file=dropped:{path.parent.name}"
    else:
        shown(path, Markup(""))
        address = f"/dropped/{path.parent.name}"
    return Dropped(kind=kind, name=path.name, address=address)


def kind_of(path: Path) -> DroppedKind:
    """Returns what a file contains. A file that is no result, no recording of calls and no net
    counts as a trace; its content is checked later. Raises InputError if the file should be a net
    but is malformed."""
    if is_known(path):
        return "results"
    if contract.recognised(path):
        return "calls"
    # A file with the suffix .json may be a net or a trace, so its content decides.
    of_nets = {*files.suffixes()} - {".json"}
    if Path(path.name.removesuffix(".gz")).suffix in of_nets or _is_json_net(path):
        files.read(path)
        return "net"
    return "trace"


def _is_json_net(path: Path) -> bool:
    """Returns whether a file has the suffix .json (or .json.gz) and is a JSON object with places
    and transitions. Such a file counts as a net even if the net has mistakes.

    The other files with this suffix count as traces. Such files are other JSON objects, files that
    are not valid JSON as a whole (such as JSON lines), and files that are too large for a net.
    """
    if Path(path.name.removesuffix(".gz")).suffix != ".json":
        return False
    try:
        content = inputs.content(KEY, path, files.BYTES_MOST)
    except InputError:
        # The file is too large for a net, or it cannot be read. In the second case, the reader of
        # traces reports the reason later.
        return False
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"places", "transitions"} <= found.keys()


def shown(path: Path, bar: Markup) -> str:
    """Returns the HTML of the page that shows a trace or a recording of file calls.

    Raises InputError if the file cannot be read as a trace or recording.
    """
    if contract.recognised(path):
        return _survey_page(path, survey(path, TraceRequest()), bar)
    try:
        found = trace.profile([path])
    except (InputError, RunFailed) as error:
        reason = error.allowed if isinstance(error, InputError) else str(error)
        raise InputError(KEY, path.name, f"{_without(reason, path)}; dfslab {TAKEN}") from error
    title = f"{found.spans:,} calls in {trees_text(found.trees)}"
    return page.render_trace(found, path.name, title, [path], bar)


def _by_name(error: InputError, path: Path) -> InputError:
    """Returns the error with the name of the file instead of the file's path on the server."""
    value = path.name if error.value in (str(path), path) else error.value
    return InputError(error.key, value, _without(error.allowed, path), _without(error.file, path))


def _without(text: str, path: Path) -> str:
    return text.replace(str(path), path.name)


def _survey_page(path: Path, found: TraceSurvey, bar: Markup) -> str:
    """Returns the HTML of a page that shows which calls of a recording would be replayed."""
    guess = " (guessed)" if found.is_root_guessed else ""
    calls, out = sum(found.taken.values()), sum(found.left_out.values())
    answer = (
        f"{calls:,} calls of {found.clients} clients in {found.root}{guess} can be replayed; "
        f"{out:,} are left out."
    )
    rows = [[words(name), count(n)] for name, n in found.taken.most_common()]
    taken = drawn(Table("Replayed calls", heads("call", "replayed"), rows))
    left = [[words(call), words(why), count(n)] for (call, why), n in found.left_out.most_common()]
    body = Markup('<div class="answer"><p>{}</p></div>').format(answer)
    body += note(f"Repeat them in a directory: dfslab replay {path.name} DIRECTORY") + taken
    if left:
        columns = heads("call", "reason", "calls", left=["reason"])
        body += Markup("<h2>Left out</h2>") + drawn(Table("Left out", columns, left))
    parts = [page.Rendered("calls", "Calls", 0, body, "", Tab.ANSWER)]
    title = f"What can be replayed of a recording of {found.form}?"
    return page.page_of(path.name, title, "read by dfslab", parts, bar=bar)
