"""Tests of traces that are stored as tables. Sums are exact in ns, SQL queries cannot access files,
and each error gives a one-line message."""

from __future__ import annotations

import json
import resource

import pytest
from dfslab import _core
from dfslab.instruments import trace
from dfslab.spec.input_error import InputError
from dfslab.studies.traces import trace_store
from support.command import dfslab
from support.rows import span_table

START = 1_700_000_000 * 10**9


@pytest.fixture(scope="module")
def otlp(tmp_path_factory):
    spans = []
    for tree in range(50):
        begin, root = START + tree * 10**6, 1 + 10 * tree
        spans.append(("write", begin, begin + 9000 + tree, root, 0, 1, 4096))
        spans.append(("disk", begin + 10, begin + 8000, root + 1, root, 1, 4096))
    path = tmp_path_factory.mktemp("traces") / "load.otlp"
    _core.trace_write(span_table(spans), "client", str(path), "protobuf")
    return path


@pytest.fixture(scope="module")
def folder(otlp):
    into = otlp.parent / "tables"
    trace_store.write(trace.profile([otlp]), into, "first")
    trace_store.write(trace.profile([otlp]), into, "second")
    return into


def test_sums_of_the_tables_are_those_of_the_spans(folder):
    columns, rows = trace_store.query(
        folder, "select trace, path, count, total_ns, bytes from calls order by all"
    )
    assert columns == ["trace", "path", "count", "total_ns", "bytes"]
    total = 50 * 9000 + sum(range(50))
    expected = [("write", 50, total, 50 * 4096), ("write/disk", 50, 50 * 7990, 50 * 4096)]
    assert rows == [(trace, *row) for trace in ("first", "second") for row in expected]
    ask = (
        "select c.name, e.kind from exemplars e join calls c using (trace, node) "
        "where trace = 'first' group by all order by all"
    )
    assert trace_store.query(folder, ask)[1] == [
        (name, kind) for name in ("disk", "write") for kind in ("sampled", "slowest")
    ]
    assert trace_store.query(folder, "select count(*) > 0 from savings")[1] == [(True,)]


@pytest.mark.parametrize(
    "sql",
    [
        "select",
        "select nothing from calls",
        "copy calls to 'here.csv'",
        "from 'x.parquet'",
        "attach 'new.db'",
        "set enable_external_access = true",
        "install httpfs",
        "export database 'out'",
        "from read_text('/etc/hostname')",
        "",
    ],
)
def test_wrong_sql_is_one_line_and_writes_nothing(folder, sql):
    before = sorted(folder.iterdir())
    answer = dfslab("trace", "query", folder, sql, cwd=folder)
    assert answer.returncode == 2, answer
    assert answer.stderr.count("\n") == 1
    assert "SQL" in answer.stderr
    assert sorted(folder.iterdir()) == before


def test_the_command_line_imports_and_asks(otlp, tmp_path):
    def run(*words):
        return dfslab("trace", *words)

    into = tmp_path / "tables"
    assert run("import", otlp, "--into", into).returncode == 0
    answer = run("query", into, "from calls where depth = 1", "--json")
    (row,) = json.loads(answer.stdout)
    assert (row["trace"], row["name"], row["bytes"]) == ("load", "write", 50 * 4096)
    again = run("import", otlp, "--into", into)
    assert (again.returncode, "--label" in again.stderr) == (2, True)
    assert run("import", otlp, "--into", into, "--label", "other").returncode == 0
    assert "2" in run("query", into, "select count(distinct trace) from calls").stdout
    assert run("import", otlp).returncode == 2
    assert run("query", tmp_path, "from calls").returncode == 2


def test_a_table_that_is_not_ours_is_named(tmp_path):
    (tmp_path / "x.calls.parquet").write_bytes(b"not parquet")
    with pytest.raises(InputError, match="no table of dfslab"):
        trace_store.query(tmp_path, "from calls")


def test_pprof_is_compressed_protobuf_with_the_names(otlp):
    import gzip

    found = gzip.decompress(trace.pprof([otlp]))
    assert b"write" in found
    assert b"nanoseconds" in found


@pytest.mark.parametrize(
    ("sql", "limit"),
    [
        ("select count(*) from range(1000000000000)", "takes more than"),
        (
            "with recursive t(n) as (select 1 union all select n + 1 from t) select sum(n) from t",
            "takes more than",
        ),
        ("select repeat('x', 2000000000)", "of memory"),
    ],
)
def test_a_query_has_limits_of_time_and_memory(folder, monkeypatch, sql, limit):
    monkeypatch.setattr(trace_store, "MOST_QUERY_S", 0.2)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(InputError, match=limit):
        trace_store.query(folder, sql)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
