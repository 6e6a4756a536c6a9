"""Reads and writes nets as PNML."""

from __future__ import annotations

from dfslab.documents.net_run import NetFile
from dfslab.nets.contract import NetFormat
from dfslab.nets.pnml import pnml_read, pnml_write

TITLE = "PNML: place/transition nets and symmetric nets"


def recognises(head: bytes) -> bool:
    """Returns whether the beginning of a file has the root element of PNML."""
    return b"<pnml" in head


def read(text: str) -> NetFile:
    """Returns the net of a PNML document, which declares no monitors. Raises InputError if the
    document is malformed."""
    return NetFile(net=pnml_read.read(text))


FORMAT = NetFormat(TITLE, recognises, read, pnml_write.write, losses=pnml_write.losses)
