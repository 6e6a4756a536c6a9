"""Tests of the core's tables of spans and operations. The tables can be read with or without the
library Arrow. Both ways return every column and every null."""

from __future__ import annotations

import ast
import gc
import json
import random
import re
from dataclasses import asdict, fields
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dfslab import _core
from dfslab.documents.rows import PlannedOperation, operations
from dfslab.fleet import shards
from dfslab.fleet.agent import columns
from dfslab.instruments import trace
from support import otlp_twin
from support.rows import span_rows, span_table
from support.synthetic import ONE_OPERATION

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "tests/recorded/run/traces").glob("*.otlp"))
TRACES = [*RECORDED, ROOT / "scenarios/data/hdfs-trace/client-13050.otlp.json"]
GUIDE = ROOT / "docs/guide/tracing.md"
STUB = ROOT / "python/dfslab/_core.pyi"
KINDS = ("read", "write", "append", "create", "stat", "list", "rename", "delete", "mkdir")


def columns_of(table: _core.Table) -> dict[str, list[object]]:
    """Returns every column as Arrow reads it, after checking the table against the rules of Arrow's
    format."""
    arrow = pa.table(table)
    arrow.validate(full=True)
    assert len(arrow) == len(table)
    return arrow.to_pydict()


def stream(**changes: object) -> str:
    """Returns, as JSON, a small stream of two clients with random files, sizes and operations."""
    spec = {
        "seed": 11,
        "clients": 2,
        "operations_per_client": 300,
        "files_per_client": 6,
        "mix": [{"operation": kind, "weight": 1.0} for kind in KINDS],
        "file_size": {"lognormal": {"median": 50_000, "sigma": 1.0, "max": 1_000_000}},
        "transfer_size_bytes": 65536,
    }
    return json.dumps(spec | changes)


def drawn_rows(seed: int, count: int) -> list[tuple]:
    """Returns random spans as rows. The integers in a row are drawn from the whole range of each
    column."""
    source = random.Random(seed)
    long = [0, 1, 2**53 + 1, 2**63, 2**64 - 1]
    return [
        (
            source.choice(["", "write", "write/größe", "読む", "x" * 900]),
            *(source.choice([*long, source.randrange(2**64)]) for _ in range(4)),
            source.randrange(2**32),
            source.choice(long),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_spans_of_recorded_traces_are_those_of_a_naive_reader(path):
    table, left_out = trace.spans([path], None, 1_000_000)
    expected = otlp_twin.spans(path)
    assert (len(table), left_out) == (len(expected), 0)
    found = columns_of(table)
    assert list(found) == [field.name for field in fields(otlp_twin.SpanOfTwin)]
    known = {(span.trace_id, span.span_id) for span in expected}
    ids = list(zip(found["trace_id"], found["span_id"], strict=True))
    assert len(set(ids)) == len(ids)
    for span in expected:
        row, wanted = ids.index((span.trace_id, span.span_id)), asdict(span)
        if (span.trace_id, span.parent_id) not in known:
            wanted["parent_id"] = None  # a span whose parent is missing is read as a root
        assert {name: column[row] for name, column in found.items()} == wanted, row


def test_hosts_errors_waits_and_their_nulls_are_read(tmp_path):
    def span(number: int, parent: int = 0, **more: object) -> dict[str, object]:
        above = {"parentSpanId": f"{parent:016x}"} if parent else {}
        ids = {"traceId": f"{7:032x}", "spanId": f"{number:016x}", "name": f"step {number % 2}"}
        times = {"startTimeUnixNano": str(10**18), "endTimeUnixNano": str(10**18 + 100 - number)}
        return {**ids, **above, **times, **more}

    def named(**texts: str) -> list[dict[str, object]]:
        return [{"key": key, "value": {"stringValue": text}} for key, text in texts.items()]

    waits = named(**{"dfslab.kind": "lock"})
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": named(**{"host.name": "a", "service.name": "s"})},
                "scopeSpans": [{"spans": [span(1), span(2, 1, status={"code": 2})]}],
            },
            {"scopeSpans": [{"spans": [span(3, 1, attributes=waits)]}]},
        ]
    }
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    table, _ = trace.spans([path], None, 100)
    expected = [asdict(span) for span in otlp_twin.spans(path)]
    assert pa.table(table).sort_by("span_id").to_pylist() == expected
    assert (table.host, table.service) == (["a", "a", None], ["s", "s", None])
    assert (table.error, table.wait) == ([False, True, False], [False, False, True])
    assert table.parent_id.tolist() == [0, 1, 1]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_rows_become_columns_and_columns_become_rows(count):
    rows = drawn_rows(count, count)
    table = span_table(rows)
    assert span_rows(table) == rows
    found = columns_of(table)
    assert found["trace_id"] == found["service"] == found["host"] == [None] * count
    assert found["parent_id"] == [parent or None for _, _, _, _, parent, *_ in rows]
    names = ("name", "start_unix_ns", "end_unix_ns", "span_id", None, "thread", "bytes")
    for place, name in enumerate(names):
        assert name is None or found[name] == [row[place] for row in rows], name


@pytest.mark.parametrize("client", [0, 1])
def test_operations_are_those_of_the_canonical_bytes(client):
    text = stream()
    table = _core.stream_operations(text, client)
    found = columns_of(table)
    assert tuple(found) == PlannedOperation._fields
    rows = list(zip(*found.values(), strict=True))
    assert rows == list(operations(table))
    decoded = list(ONE_OPERATION.iter_unpack(_core.stream_bytes(text, client)))
    kinds = {code: KINDS[code] for code in range(len(KINDS))}
    assert rows == [(c, number, kinds[kind], *rest) for c, kind, number, *rest in decoded]
    assert len({row[2] for row in rows}) == len(KINDS)


def test_columns_say_the_same_as_the_stub():
    stubs = {
        node.name: {
            line.target.id: ast.unparse(line.annotation)
            for line in node.body
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        }
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    types = {
        "I": "memoryview[int]",
        "Q": "memoryview[int]",
        "dictionary<values=string, indices=int32, ordered=0>": "list[str{}]",
        "bool": "list[bool{}]",
        "fixed_size_binary[16]": "list[TraceId{}]",
    }
    for table in (span_table([]), _core.stream_operations(stream(), 0)):
        stub = stubs[type(table).__name__]
        schema = pa.table(table).schema
        assert list(stub) == schema.names
        for field in schema:
            column = getattr(table, field.name)
            kind = column.format if isinstance(column, memoryview) else str(field.type)
            missing = " | None" if field.nullable else ""
            assert stub[field.name] == types[kind].format(missing), field.name


def test_duckdb_pandas_and_numpy_take_tables():
    rows = drawn_rows(3, 500)
    spans = span_table(rows)
    (counted,) = duckdb.sql("select count(*), count(parent_id), sum(bytes) from spans").fetchall()
    parents = [row[4] for row in rows if row[4]]
    assert counted == (len(rows), len(parents), sum(row[6] for row in rows))
    frame = pd.DataFrame.from_arrow(spans)
    assert list(frame["name"]) == [row[0] for row in rows]
    assert frame["host"].isna().all()
    array = np.asarray(spans.span_id)
    assert (array.dtype, array.tolist()) == (np.dtype("uint64"), [row[3] for row in rows])


def test_integers_are_shared_with_all_readers_and_cannot_be_written():
    table = span_table(drawn_rows(4, 100))
    here = np.asarray(table.span_id).__array_interface__["data"][0]
    assert pa.table(table)["span_id"].chunk(0).buffers()[1].address == here
    assert pa.record_batch(table)["span_id"].buffers()[1].address == here
    assert np.asarray(table.span_id).__array_interface__["data"][0] == here
    with pytest.raises(TypeError, match="read-only"):
        table.span_id[0] = 1


def test_columns_outlive_their_table():
    rows = drawn_rows(5, 10_000)
    table = span_table(rows)
    view, arrow = table.end_unix_ns, pa.table(table)
    names = arrow.slice(100, 50)["name"]
    del table, arrow
    gc.collect()
    assert view.tolist() == [row[2] for row in rows]
    assert names.to_pylist() == [row[0] for row in rows[100:150]]


def resident_bytes() -> int:
    """Returns the bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    "read",
    [
        lambda table: table.__arrow_c_schema__(),
        lambda table: table.__arrow_c_array__(),
        lambda table: table.__arrow_c_stream__(),
        lambda table: pa.table(table),
        lambda table: pa.RecordBatchReader.from_stream(table).schema,
        lambda table: pa.record_batch(table)["operation"].dictionary,
        lambda table: table.file,
        lambda table: table,
    ],
    ids=["schema", "array", "stream", "table", "unread", "child", "view", "nothing"],
)
def test_memory_is_freed_whatever_was_taken(read):
    def take() -> None:
        # The table of one stream takes about 5 MB of memory, so a table that is not freed is
        # noticed.
        read(_core.stream_operations(text, 0))

    text = stream(operations_per_client=100_000, mix=[{"operation": "stat", "weight": 1.0}])
    take()
    before_bytes = resident_bytes()
    for _ in range(12):
        take()
    assert resident_bytes() - before_bytes < 30e6


def test_a_leak_of_tables_would_be_detected():
    text = stream(operations_per_client=100_000, mix=[{"operation": "stat", "weight": 1.0}])
    before_bytes = resident_bytes()
    kept = [_core.stream_operations(text, 0) for _ in range(12)]
    assert resident_bytes() - before_bytes > 50e6
    assert len(kept) == 12


class Kept:
    """An object that gives the same Arrow capsule to every reader, although a capsule may be read
    only once."""

    def __init__(self, capsule: object):
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule


def test_a_capsule_is_taken_once_and_by_its_own_protocol():
    table = span_table(drawn_rows(6, 10))
    kept = Kept(table.__arrow_c_stream__(None))
    assert pa.table(kept).num_rows == 10
    with pytest.raises(pa.ArrowInvalid, match="released"):
        pa.table(kept)
    _, array = table.__arrow_c_array__(requested_schema=None)
    with pytest.raises(ValueError, match="PyCapsule"):
        pa.table(Kept(array))


def test_what_is_wrong_is_refused(tmp_path):
    table = span_table(drawn_rows(7, 3))
    with pytest.raises(AttributeError, match='no column "nothing"'):
        getattr(table, "nothing")  # noqa: B009
    with pytest.raises(ValueError, match="must have the same length"):
        _core.SpanTable(["a"], [], [1], [1], [0], [0], [0])
    with pytest.raises(IndexError, match="row 3 of a table of 3 spans"):
        table.write([3], str(tmp_path / "x"))
    with pytest.raises(_core.InputError, match="No such file"):
        table.write([0], str(tmp_path / "no" / "x"))
    assert list(tmp_path.iterdir()) == []


def test_some_rows_are_written_as_they_were_read(tmp_path):
    table, _ = trace.spans([TRACES[-1]], None, 1_000_000)
    first = table.trace_id[0]
    rows = [row for row, one in enumerate(table.trace_id) if one == first]
    table.write(rows, str(tmp_path / "part"))
    again, _ = trace.spans([tmp_path / "part"], None, 1_000_000)
    assert pa.table(again).to_pylist() == pa.table(table).take(rows).to_pylist()
    assert trace.profile_of(table, rows).spans == len(rows)


def test_shards_are_joined_and_their_clocks_are_shifted():
    first, second = (
        [(f"{n} {s}", 100 + n, 200 + n, n + 1, 0, s, 7) for n in range(3)] for s in (0, 1)
    )
    both = shards.joined([columns(span_table(rows)) for rows in (first, second)])
    assert span_rows(both) == [*first, *second]
    moved = span_rows(shards.shifted(both, {0: 10, 1: -5}))
    ahead_ns = [10] * 3 + [-5] * 3
    assert [row[1] for row in moved] == [
        row[1] - ns for row, ns in zip([*first, *second], ahead_ns, strict=True)
    ]
    assert [row[2] - row[1] for row in moved] == [100] * 6
    assert [(row[0], *row[3:]) for row in moved] == [
        (row[0], *row[3:]) for row in [*first, *second]
    ]
    assert len(shards.joined([])) == 0


def test_the_guide_reads_spans(monkeypatch):
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(program, names)
    expected: dict[str, float] = {}
    for span in otlp_twin.spans(TRACES[-1]):
        duration_s = (span.end_unix_ns - span.start_unix_ns) / 1e9
        expected[span.name] = max(duration_s, expected.get(span.name, 0.0))
    assert (dict(names["longest"].fetchall()), names["left_out"]) == (expected, 0)
