"""Compressed traces as tables: Parquet in a folder, one schema for all systems, read with SQL."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfslab.lazily import lazily
from dfslab.spec.model import InputError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    duckdb = lazily("duckdb")
    pa = lazily("pyarrow")
    pq = lazily("pyarrow.parquet")

_TIMES = ("total_ns", "self_ns")
_SECONDS = ("min_s", "max_s", "p50_s", "p99_s", "sd_s")
_REPEATS = ("least", "p50", "most")
_SHARES = ("work_s", "waited_s", "utilisation", "summed_share", "last_finisher_share")
_BOUNDS = ("saving", "least", "most", "low", "high", "utilisation")
_RANKS = ("by_sum", "by_last_finisher")
_WHOLE = ("depth", "name", "place", "about", "start_s", "duration_s", "wait", "error")


# The columns of every table: name:type, the types as `_schemas` names them.
_COLUMNS = {
    "calls": (
        "trace:text node:whole parent:whole path:text name:text kind:text depth:small count:whole "
        "read:whole estimated:truth errors:whole bytes:wide total_ns:wide self_ns:wide min_s:real "
        "max_s:real p50_s:real p99_s:real sd_s:real again:truth times_least:whole times_p50:whole "
        "times_most:whole"
    ),
    "exemplars": "trace:text node:whole kind:text trace_id:text span_id:text duration_s:real",
    "savings": (
        "trace:text step:text factor:real saving:real low:real high:real verdict:text work_s:real "
        "waited_s:real utilisation:real summed_share:real last_finisher_share:real"
    ),
    "parts": (
        "trace:text part:text factor:real saving:real least:real most:real low:real high:real "
        "utilisation:real verdict:text by_sum:real by_last_finisher:real"
    ),
    "hosts": "trace:text node:whole host:text count:whole bytes:wide self_ns:wide",
    "clocks": ("trace:text host:text ahead_ns:whole residual_ns:whole calls:whole against:whole"),
    "timelines": (
        "trace:text whole:whole call:whole depth:whole name:text place:text about:text "
        "start_s:real duration_s:real wait:truth error:truth"
    ),
    "losses": "trace:text kind:text count:whole",
    "left_out": (
        "trace:text rule:text calls:whole without_caller:whole bytes:wide total_ns:wide "
        "self_ns:wide"
    ),
}


@lru_cache(maxsize=1)
def _schemas() -> dict[str, pa.Schema]:
    """The Arrow schema of every table; byte counts and nanoseconds are exact integers."""
    types = {
        "text": pa.string(),
        "whole": pa.int64(),
        "small": pa.int32(),
        "wide": pa.decimal128(38, 0),
        "real": pa.float64(),
        "truth": pa.bool_(),
    }
    pairs = {name: [one.split(":") for one in text.split()] for name, text in _COLUMNS.items()}
    return {
        name: pa.schema([(column, types[kind]) for column, kind in columns])
        for name, columns in pairs.items()
    }


LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MOST_ROWS = 100_000


def write(profile: Mapping[str, Any], folder: Path, label: str) -> None:
    """One file a table for a profile; the files of another profile of that label are replaced."""
    if not LABEL.fullmatch(label):
        raise InputError("--label", label, "must be letters, digits, - and _, at most 64")
    folder.mkdir(exist_ok=True)
    for name, rows in tables(profile, label).items():
        path = folder / f"{label}.{name}.parquet"
        temporary = folder / f".{path.name}.{os.getpid()}.tmp"
        try:
            pq.write_table(pa.Table.from_pylist(rows, schema=_schemas()[name]), temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def tables(profile: Mapping[str, Any], label: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table."""
    calls: list[dict[str, Any]] = []
    exemplars: list[dict[str, Any]] = []
    hosts: list[dict[str, Any]] = []
    for number, parent, path, node in _walk(profile):
        columns = {key: node.get(key) for key in ("kind", "count", "errors", "bytes", *_TIMES)}
        seconds = {key: node.get(key) for key in _SECONDS}
        # Calls that were read, and whether counts and sums are estimates of more.
        columns["read"] = node.get("read", node["count"])
        columns["estimated"] = columns["read"] != node["count"]
        # Failed attempts stand apart, and repetitions of one caller are counted, in spans only.
        columns["again"] = node.get("again", False)
        columns |= {f"times_{key}": (node.get("times") or {}).get(key) for key in _REPEATS}
        calls.append(
            {
                "trace": label,
                "node": number,
                "parent": parent,
                "path": "/".join(path),
                "name": node["name"],
                "depth": len(path),
                **columns,
                **seconds,
            }
        )
        exemplars += [
            {"trace": label, "node": number, **one}
            for one in node.get("exemplars", ())
            if "trace_id" in one
        ]
        hosts += [
            {
                "trace": label,
                "node": number,
                "host": host,
                **dict(zip(("count", "self_ns", "bytes"), of, strict=False)),
            }
            for host, of in node.get("of", {}).items()
        ]
    savings = profile.get("savings") or {"steps": ()}
    losses = profile.get("losses") or {}
    gained = ("step", "saving", "low", "high", "verdict", *_SHARES)
    return {
        "calls": calls,
        "exemplars": exemplars,
        "hosts": hosts,
        "savings": [
            {"trace": label, "factor": savings["factor"], **{key: step.get(key) for key in gained}}
            for step in savings["steps"]
        ],
        "parts": _parts(profile.get("parts") or {"parts": ()}, label),
        "clocks": [{"trace": label, **clock} for clock in profile.get("clocks") or ()],
        "timelines": _timelines(profile, label),
        "losses": [
            {"trace": label, "kind": kind, "count": count}
            for kind, count in losses.items()
            if isinstance(count, int) and count
        ],
        "left_out": [
            {"trace": label, "rule": rule, **columns}
            for rule, columns in (profile.get("left_out") or {}).items()
        ],
    }


def _timelines(profile: Mapping[str, Any], label: str) -> list[dict[str, Any]]:
    """Every call of the exemplar traces, in the order of the file."""
    return [
        {"trace": label, "whole": number, "call": place, **{key: call.get(key) for key in _WHOLE}}
        for number, whole in enumerate(profile.get("timelines") or ())
        for place, call in enumerate(whole["calls"])
    ]


def _parts(found: Mapping[str, Any], label: str) -> list[dict[str, Any]]:
    """Rows of processors, disks and links, with their shares in the other rankings."""
    ranks = {key: {row["part"]: row["share"] for row in found.get(key, ())} for key in _RANKS}
    return [
        {
            "trace": label,
            "factor": found["factor"],
            "part": row["part"],
            "verdict": row["verdict"],
            **{key: row.get(key) for key in _BOUNDS},
            **{key: shares.get(row["part"], 0.0) for key, shares in ranks.items()},
        }
        for row in found["parts"]
    ]


def _walk(
    profile: Mapping[str, Any],
) -> Iterator[tuple[int, int | None, tuple[str, ...], Mapping[str, Any]]]:
    waiting: list[tuple[int | None, tuple[str, ...], Mapping[str, Any]]] = [
        (None, (root["name"],), root) for root in reversed(profile["roots"])
    ]
    number = 0
    while waiting:
        parent, path, node = waiting.pop()
        yield number, parent, path, node
        below = reversed(node["children"])
        waiting += [(number, (*path, child["name"]), child) for child in below]
        number += 1


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of a query. Tables are loaded into memory; SQL cannot access files."""
    with duckdb.connect() as database:
        found = 0
        for name, schema in _schemas().items():
            files = sorted(str(path) for path in folder.glob(f"*.{name}.parquet"))
            found += len(files)
            database.register("empty", schema.empty_table())
            database.execute(f"create table {name} as from empty")
            database.unregister("empty")
            if files:
                _load(database, name, files)
        if not found:
            raise InputError("trace query", str(folder), "holds no tables (dfslab trace import)")
        database.execute("set enable_external_access=false")
        database.execute("set lock_configuration=true")
        try:
            answer = database.execute(sql)
            # The query is empty or a comment.
            if answer is None or answer.description is None:
                raise InputError(
                    "SQL", sql, "asks for nothing; the tables are " + ", ".join(_schemas())
                )
            columns = [column[0] for column in answer.description]
            rows = answer.fetchmany(MOST_ROWS + 1)
        except (duckdb.Error, RuntimeError) as error:
            raise InputError("SQL", sql, _first_line(error)) from error
    if len(rows) > MOST_ROWS:
        raise InputError("SQL", sql, f"gives more than {MOST_ROWS} rows; use limit")
    return columns, [tuple(_plain(value) for value in row) for row in rows]


def _plain(value: Any) -> Any:
    """A value that JSON can hold as well: sums are whole, and what is no number is nothing."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _load(database: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    try:
        database.execute(f"insert into {name} by name from read_parquet(?)", [files])
    except duckdb.Error as error:
        raise InputError(
            "trace query", files[0], f"no table of dfslab: {_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
