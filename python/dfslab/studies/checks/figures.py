"""Reads TOML files with performance figures from any source, such as a data sheet.

A file has the title and the source of its figures. Its list `figure` has one table for each figure,
with the fields of an `Evidence`:

    title = "A data sheet"
    [[figure]]
    subject = "sequential reads"
    speed.throughput = "12 GB/s"
    hardware = { is_remote = true, client_nodes = 4, client_line = "10 Gbit/s" }
    work = { operation = "read", cache = "cold" }
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from dfslab.documents.evidence import Evidence
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError
from dfslab.spec.model import CheckedModel, build

KEY = "FILE"
SUFFIX = ".toml"


class Figures(CheckedModel):
    """The figures of one source, with the source's title."""

    title: str = Field("", description="What the figures are")
    source: str = Field("", description="Where the figures come from")
    figure: list[Evidence] = Field(min_length=1, description="Each figure with its evidence")


def read(path: Path) -> Figures:
    """Reads a file of figures. Raises InputError with the file, the wrong key and value, and what
    is allowed."""
    try:
        table = inputs.table(KEY, path, str(path))
        if "workload" in table and "figure" not in table:
            allowed = "is missing: this is a scenario; `dfslab run` it, then `dfslab check RUN`"
            raise InputError("figure", None, allowed)
        return build(Figures, table)
    except InputError as error:
        raise error.of(str(path)) from error
