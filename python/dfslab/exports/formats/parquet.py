"""Exports results as Parquet, one row for each metric."""

from __future__ import annotations

from collections.abc import Sequence

from dfslab.exports.contract import ResultExporter
from dfslab.exports.metric_rows import rows
from dfslab.result import Result

TITLE = "Every metric as a row of Parquet"


def write(results: Sequence[Result]) -> bytes:
    """Returns the results as a Parquet file with typed columns and one row for each metric."""
    import pyarrow as arrow

    schema = arrow.schema(
        [
            ("method", arrow.string()),
            ("point_id", arrow.string()),
            ("repetition", arrow.int64()),
            ("labels", arrow.string()),
            ("complete", arrow.bool_()),
            ("seed", arrow.int64()),
            ("started", arrow.string()),
            ("software", arrow.string()),
            ("commit", arrow.string()),
            ("metric", arrow.string()),
            ("operation", arrow.string()),
            ("value", arrow.float64()),
            ("low", arrow.float64()),
            ("high", arrow.float64()),
            ("verified_bytes", arrow.int64()),
        ]
    )
    sink = arrow.BufferOutputStream()
    import pyarrow.parquet as parquet

    parquet.write_table(
        arrow.Table.from_pylist([row._asdict() for row in rows(results)], schema=schema), sink
    )
    return sink.getvalue().to_pybytes()


EXPORTER = ResultExporter(TITLE, ".parquet", write)
