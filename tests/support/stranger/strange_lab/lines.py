"""An importer of text files. After a header, each line "SECONDS PATH BYTES" stands for one
write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dfslab.imports.contract import CallImporter, FileCall, Recording

TITLE = "Written files, one in a line"
HEAD = b"#lines\n"


def recognises(head: bytes) -> bool:
    """Returns whether the first bytes of a file are the format's name."""
    return head.startswith(HEAD)


def read(path: Path, recording: Recording) -> Iterator[FileCall]:
    """Yields a write for each line whose path is below the directory `recording.under`.

    Raises ValueError if a line has another form.
    """
    for line in path.read_text().splitlines()[1:]:
        seconds, name, size = line.split()
        if name.startswith(recording.under):
            yield FileCall(float(seconds), 1, "pwrite", name, 0, int(size))


IMPORTER = CallImporter(TITLE, recognises, read)
