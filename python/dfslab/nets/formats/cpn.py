"""Reads and writes nets as files of CPN Tools."""

from __future__ import annotations

from dfslab.nets.contract import NetFormat
from dfslab.nets.cpn import cpn_read, cpn_write
from dfslab.nets.cpn.writing.unwritten import losses

TITLE = "CPN Tools: coloured Petri nets with monitors"
# The root element of files of CPN Tools, which follows an XML declaration and a document type.
ROOT = b"<workspaceElements"


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has the root element of CPN Tools."""
    return ROOT in head


FORMAT = NetFormat(
    TITLE,
    recognises,
    cpn_read.read_file,
    cpn_write.write,
    encodings=("utf-8", "iso-8859-1"),
    write_file=cpn_write.write_file,
    losses=losses,
)
