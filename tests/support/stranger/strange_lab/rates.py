"""An exporter that writes one rate per line."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.exports.contract import ResultExporter
from dfslab.result import Result

TITLE = "Rates, one in a line"


def write(results: Sequence[Result]) -> bytes:
    """Returns one line of text for each result that has a rate. The line is the rate."""
    rates = [one.value() for one in results if "rate_per_s" in one.metrics]
    return "".join(f"{rate!r}\n" for rate in rates).encode()


EXPORTER = ResultExporter(TITLE, ".txt", write)
