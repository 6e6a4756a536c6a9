"""Stores compressed traces as Parquet tables, which have the same schema for all file systems, and
runs SQL queries on them."""

from __future__ import annotations

import math
import os
import re
import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dfslab.documents.table import Value
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.trace_analysis import PartRanking, TraceAnalysis
from dfslab.documents.traces.trace_profile import Savings, TraceProfile, TreeNode
from dfslab.documents.traces.trace_tree import walk
from dfslab.spec.input_error import InputError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

TableRows = list[dict[str, Value]]


# The columns of every table as name:type. The function `_schemas` maps the types to Arrow types.
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
    import pyarrow as pa

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
Found = TypeVar("Found")
MOST_ROWS = 100_000
# Limits of a query: seconds, and bytes of memory. The limits stop queries that would never end.
# Ordinary queries of call trees take milliseconds.
MOST_QUERY_S = 10.0
MOST_QUERY_BYTES = 512 << 20


def write(profile: TraceProfile, folder: Path, label: str) -> None:
    """Writes a profile as one Parquet file for each table.

    Earlier files with the same label are replaced. Raises InputError if the label is malformed.
    """
    if not LABEL.fullmatch(label):
        raise InputError("--label", label, "must be letters, digits, - and _, at most 64")
    folder.mkdir(exist_ok=True)
    for name, rows in tables(profile).items():
        path = folder / f"{label}.{name}.parquet"
        temporary = folder / f".{path.name}.{os.getpid()}.tmp"
        labelled = [{"trace": label, **row} for row in rows]
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist(labelled, schema=_schemas()[name]), temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def tables(profile: TraceProfile) -> dict[str, TableRows]:
    """Returns the rows of every table for a profile, by the name of the table. The rows do not yet
    have the label of the trace."""
    analysis = TraceAnalysis.of(profile)
    found: dict[str, TableRows] = {"calls": [], "exemplars": [], "hosts": []}
    numbers: dict[CallPath | None, int] = {}
    for number, (path, node) in enumerate(walk(profile.roots)):
        # The nodes come in depth-first order. The parent of a node is therefore the last node that
        # was recorded for the parent's path.
        numbers[path] = number
        found["calls"].append(_call(number, numbers.get(path.parent), path, node))
        found["exemplars"] += [
            {"node": number, **one.model_dump(mode="json")} for one in node.exemplars
        ]
        found["hosts"] += [
            {"node": number, "host": host, "count": count, "self_ns": self_ns, "bytes": moved}
            for host, (count, self_ns, moved, *_) in node.of.items()
        ]
    return {
        **found,
        "savings": _savings(profile.savings) if profile.savings else [],
        "parts": _parts(analysis.parts) if analysis.parts else [],
        "clocks": [clock.model_dump(mode="json") for clock in profile.clocks],
        "timelines": _timelines(profile),
        "losses": [
            {"kind": kind, "count": count} for kind, count in profile.losses.items() if count
        ],
        "left_out": [
            {"rule": rule, **columns.model_dump(mode="json")}
            for rule, columns in profile.left_out.items()
        ],
    }


def _call(number: int, parent: int | None, path: CallPath, node: TreeNode) -> dict[str, Value]:
    """Returns a row of the table `calls` for one node of the call tree.

    `read`: number of calls that were recorded. If the row's `count` differs from `read`, `count` is
    an estimate.
    """
    return {
        "node": number,
        "parent": parent,
        "path": str(path),
        "name": node.name,
        "kind": node.kind,
        "depth": len(path.names),
        "count": node.count,
        "read": node.read,
        "estimated": node.read != node.count,
        "errors": node.errors,
        "bytes": node.bytes,
        "total_ns": node.total_ns,
        "self_ns": node.self_ns,
        "min_s": node.min_s,
        "max_s": node.max_s,
        "p50_s": node.p50_s,
        "p99_s": node.p99_s,
        "sd_s": node.sd_s,
        # `again`: repetitions of the call by the same caller, which only spans record. Failed
        # attempts are separate rows.
        "again": node.again,
        "times_least": node.times.least if node.times else None,
        "times_p50": node.times.p50 if node.times else None,
        "times_most": node.times.most if node.times else None,
    }


def _savings(savings: Savings) -> TableRows:
    return [
        {
            "factor": savings.factor,
            "step": str(one.step),
            "saving": one.saving,
            "low": one.low,
            "high": one.high,
            "verdict": one.verdict,
            "work_s": one.work_s,
            "waited_s": one.waited_s,
            "utilisation": one.utilisation,
            "summed_share": one.summed_share,
            "last_finisher_share": one.last_finisher_share,
        }
        for one in savings.steps
    ]


def _timelines(profile: TraceProfile) -> TableRows:
    """Returns one row for every call of the exemplar traces, in the order of the trace file."""
    return [
        {
            "whole": number,
            "call": place,
            "depth": call.depth,
            "name": call.name,
            "place": call.place,
            "about": call.about,
            "start_s": call.start_s,
            "duration_s": call.duration_s,
            "wait": call.wait,
            "error": call.error,
        }
        for number, whole in enumerate(profile.timelines)
        for place, call in enumerate(whole.calls)
    ]


def _parts(found: PartRanking) -> TableRows:
    """Returns one row for every processor, disk and link, with its predicted saving and its shares
    in the two rankings by self time."""
    by_sum = {row.part: row.share for row in found.by_sum}
    by_last_finisher = {row.part: row.share for row in found.by_last_finisher}
    return [
        {
            "factor": found.factor,
            **row.model_dump(mode="json"),
            "by_sum": by_sum.get(row.part, 0.0),
            "by_last_finisher": by_last_finisher.get(row.part, 0.0),
        }
        for row in found.parts
    ]


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Value, ...]]]:
    """Runs an SQL query over the stored traces. Returns (column names, rows). The tables are loaded
    into memory, so the SQL cannot access files.

    Raises InputError if the folder has no tables, or if the SQL is wrong, exceeds the limits of
    time or memory, or gives more than MOST_ROWS rows.
    """
    import duckdb

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
        database.execute(f"set memory_limit='{MOST_QUERY_BYTES}B'")
        database.execute("set max_temp_directory_size='0B'")
        database.execute("set enable_external_access=false")
        database.execute("set lock_configuration=true")
        try:
            answer = _limited(database, lambda: database.execute(sql))
            # There is no answer if the query is empty or consists of a comment.
            if answer is None or answer.description is None:
                raise InputError(
                    "SQL", sql, "asks for nothing; the tables are " + ", ".join(_schemas())
                )
            columns = [column[0] for column in answer.description]
            rows = _limited(database, lambda: answer.fetchmany(MOST_ROWS + 1))
        except duckdb.InterruptException as error:
            raise InputError("SQL", sql, f"takes more than {MOST_QUERY_S:g} s") from error
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            limit = f"takes more than {MOST_QUERY_BYTES >> 20} MiB of memory"
            raise InputError("SQL", sql, limit) from error
        except (duckdb.Error, RuntimeError) as error:
            raise InputError("SQL", sql, _first_line(error)) from error
    if len(rows) > MOST_ROWS:
        raise InputError("SQL", sql, f"gives more than {MOST_ROWS} rows; use limit")
    return columns, [tuple(_plain(value) for value in row) for row in rows]


def _limited(database: duckdb.DuckDBPyConnection, work: Callable[[], Found]) -> Found:
    """Returns the answer of `work`. Interrupts `work` after MOST_QUERY_S seconds.

    During the query, the memory of this process may grow by twice MOST_QUERY_BYTES. The database
    limits its memory to MOST_QUERY_BYTES, but this limit does not include the strings that SQL
    functions create.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most_bytes = pages * resource.getpagesize() + 2 * MOST_QUERY_BYTES
    known = [one for one in (soft, hard) if one != resource.RLIM_INFINITY]
    with ThreadPoolExecutor(max_workers=1) as pool:
        resource.setrlimit(resource.RLIMIT_AS, (min([most_bytes, *known]), hard))
        try:
            pending = pool.submit(work)
            try:
                return pending.result(MOST_QUERY_S)
            except TimeoutError:
                database.interrupt()
                return pending.result()
            except BaseException:
                database.interrupt()
                raise
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _plain(value: Value | Decimal) -> Value:
    """Converts a value to one that JSON can hold: a whole Decimal becomes an integer, NaN and
    infinity become None."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _load(database: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    import duckdb

    try:
        database.execute(f"insert into {name} by name from read_parquet(?)", [files])
    except duckdb.Error as error:
        raise InputError(
            "trace query", files[0], f"no table of dfslab: {_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
