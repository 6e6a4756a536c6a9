"""Exports complete call trees as OTLP JSON, which other trace viewers and dfslab read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfslab.exports import trees
from dfslab.exports.contract import TraceExporter, Written
from dfslab.instruments import trace
from dfslab.instruments.tracing.reading import Reading

TITLE = "Complete call trees as OTLP JSON"
REFUSED = "exports spans; speedscope exports profiles of JVMs"


def write_spans(files: Sequence[Path], reading: Reading) -> Written:
    """Exports complete call trees as OTLP JSON. If the trees have more spans than a document may
    have, only a random sample of the trees is exported. The note of the document then states how
    many trees were left out."""
    text, left_out = trace.otlp(files, reading, trees.MOST_EVENTS)
    note = f"{left_out:,} call trees are left out: a file has at most {trees.MOST_EVENTS:,} spans"
    return Written(f"{text}\n".encode(), note if left_out else "")


EXPORTER = TraceExporter(TITLE, ".json", write_spans=write_spans, refused=REFUSED)
