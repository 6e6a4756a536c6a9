"""Reads and writes the findings of studies as plain data, together with a hash of the inputs from
which the studies computed them.

To let commands print stored findings quickly, this module imports no large library and creates no
result objects.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dfslab import discover
from dfslab.spec.files import regular
from dfslab.spec.files.outputs import write_atomically
from dfslab.spec.input_error import RunFailed

if TYPE_CHECKING:
    from pydantic import JsonValue

FILE = "findings.json"
# The append-only file of a run's results, in its folder `results`.
RECORDS = "records.jsonl"
# Version of the stored findings. The version is increased whenever a study's computation or its
# result type changes.
FORMAT = 3
MISSING = "no findings are stored"
OTHER_FORMAT = "the stored findings are of another version"
UNREADABLE = "the stored findings cannot be read"
CHANGED = "the results have changed since the findings were stored"


class _Digest(Protocol):
    def update(self, data: bytes, /) -> object:
        """Adds bytes to the hash."""


@dataclass(frozen=True)
class Stored:
    """The stored findings as plain data.

    `findings` is None if they cannot be used; `reason` then says why.
    """

    findings: dict[str, JsonValue] | None
    reason: str = ""


def result_files(folder: Path) -> list[Path]:
    """Returns the files of a run folder that have one result each, ordered by name. Earlier
    versions of dfslab stored results in such files.

    Raises RunFailed if the folder of results is missing. Also raises RunFailed if any entry that is
    named like a result or like the file of records is not a regular file (a link, a pipe, a
    folder); the error names all of these entries.
    """
    place = folder / "results"
    if not place.is_dir():
        raise RunFailed(f"{place}: no such folder; the run has lost its results")
    found = sorted(place.glob("*.json"))
    records = [one for one in place.iterdir() if one.name == RECORDS]
    strange = [one for one in (*found, *records) if not stat.S_ISREG(one.lstat().st_mode)]
    if strange:
        raise RunFailed("\n".join(f"{one}: is no regular file" for one in strange))
    return found


def inputs_hash(folder: Path) -> str:
    """Returns the SHA-256 hash of all inputs of the studies.

    The hash covers the scenario, the results, the sizes of the traces, the descriptions in
    DFSLAB_PATH, and the versions of dfslab and of installed packages with studies. Raises RunFailed
    if a stored result is not a regular file.
    """
    digest = hashlib.sha256(f"{FORMAT} {metadata.version('dfslab')}".encode())
    for path in (folder / "scenario.toml", *result_files(folder)):
        _add(digest, path.name, path.read_bytes())
    records = folder / "results" / RECORDS
    if records.exists():
        with records.open("rb") as file:
            _add(digest, RECORDS, hashlib.file_digest(file, "sha256").digest())
    # A trace can have gigabytes, so its size is hashed instead of its content. If one trace is
    # replaced by another, their sizes are assumed to differ.
    for path in sorted((folder / "traces").rglob("*")):
        if path.is_file():
            _add(digest, str(path.relative_to(folder)), str(path.stat().st_size).encode())
    for path in _descriptions():
        _add(digest, str(path), path.read_bytes())
    # An installed package may contribute studies and descriptions, whose results may change with
    # the package's version.
    for entry in sorted(discover.entries()):
        version = entry.dist.version if entry.dist is not None else ""
        _add(digest, f"{entry.name} {entry.value}", version.encode())
    return digest.hexdigest()


def _add(digest: _Digest, name: str, content: bytes) -> None:
    """Adds a name and a content to the hash. The length of each is added before it, because
    otherwise different lists of files could give the same bytes."""
    digest.update(f"{len(name)} {len(content)} {name}".encode())
    digest.update(content)


def _descriptions() -> Iterator[Path]:
    """The Python files of file systems, workloads, models and studies in the folders of
    DFSLAB_PATH."""
    for part in os.environ.get("DFSLAB_PATH", "").split(os.pathsep):
        if part:
            for pattern in ("*/*.py", "*/*/*.py"):
                yield from sorted(Path(part).glob(pattern))


def read(folder: Path, inputs: str) -> Stored:
    """Reads the stored findings of a run folder.

    The findings are returned only if they were computed from inputs with the hash `inputs`;
    otherwise `Stored.reason` states why there are none.
    """
    try:
        document = json.loads(regular.content(folder / FILE))
        form, known, findings = (document[key] for key in ("format", "inputs", "findings"))
    except FileNotFoundError:
        return Stored(None, MISSING)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Stored(None, UNREADABLE)
    if form != FORMAT or not isinstance(findings, dict):
        return Stored(None, OTHER_FORMAT)
    return Stored(findings) if known == inputs else Stored(None, CHANGED)


def write(folder: Path, inputs: str, findings: dict[str, JsonValue]) -> None:
    """Stores findings together with `inputs`, the hash of the data from which they were computed.

    If the folder is not writable, nothing is stored and no error is raised.
    """
    document = {"format": FORMAT, "inputs": inputs, "findings": findings}
    try:
        write_atomically(folder / FILE, json.dumps(document))
    except OSError:
        # Without stored findings, the next command recomputes them.
        return
