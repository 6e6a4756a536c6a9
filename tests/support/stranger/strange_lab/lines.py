"""An importer: a line for each written file, "SECONDS PATH BYTES"."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dfslab.imports.contract import CallImporter, FileCall, Recording

TITLE = "Written files, one in a line"
HEAD = b"#lines\n"


def recognises(head: bytes) -> bool:
    """Whether it begins with the format's name."""
    return head.startswith(HEAD)


def read(path: Path, recording: Recording) -> Iterator[FileCall]:
    """A write for each line below the directory. ValueError if a line is no such line."""
    for line in path.read_text().splitlines()[1:]:
        seconds, name, size = line.split()
        if name.startswith(recording.under):
            yield FileCall(float(seconds), 1, "pwrite", name, 0, int(size))


IMPORTER = CallImporter(TITLE, recognises, read)
