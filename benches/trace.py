"""Measures the speed at which a large trace is read and compressed. Compares spans per second,
memory and reduction with those of peers.

A trace of block writes is written in both encodings of OTLP, JSON and protobuf. Each reader runs in
a separate process, so that its peak memory can be measured. Medians of a few runs are reported.
Every reader uses one thread, so its processor time is the time of one core. The wall-clock time
also depends on other programs. The peers DuckDB and plain Python count the same spans and sum their
times by name.

Each bar (pass criterion) in spans per second is also stated as a ratio to the rate of plain Python.
This rate is the number of spans of the JSON encoding that plain Python reads per second of
processor time. The bar of protobuf uses this rate, too, because no peer reads protobuf. A figure is
checked against both bars.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bars import Bar, Pair, judged, of_pairs
from dfslab import _core
from rich.console import Console
from rich.table import Table

MEGABYTES = int(os.environ.get("DFSLAB_BENCH_MB", "1000"))
SPANS_A_PIECE = 60_000
SEED = 6
RUNS = {"ours": 5, "report": 1, "python": 1, "duckdb": 1}
START_NS = 1_700_000_000 * 10**9
# The rate at which plain Python reads OTLP's JSON, in million spans per second. This rate was
# measured on the machine on which the bars were set.
PYTHON_MSPANS_PER_S = 0.27
PAIRS = tuple(
    Pair(
        f"{form}_mspans_per_s",
        f"{form}_vs_python",
        Bar(least, "at least"),
        "Mspan/s",
        "plain Python's with JSON",
        PYTHON_MSPANS_PER_S,
    )
    for form, least in (("protobuf", 8.0), ("json", 2.0))
)
BARS = of_pairs(PAIRS)
WORK = {
    "ours": "from dfslab import _core; _core.trace_folded([path])",
    "report": "from dfslab import _core; found = json.loads(_core.trace_profile([path], '{}'))",
    "python": (
        "sums = {}\n"
        "for line in open(path):\n"
        "    for one in json.loads(line)['resourceSpans']:\n"
        "        for scope in one['scopeSpans']:\n"
        "            for span in scope['spans']:\n"
        "                took = int(span['endTimeUnixNano']) - int(span['startTimeUnixNano'])\n"
        "                held = sums.setdefault(span['name'], [0, 0])\n"
        "                held[0] += 1; held[1] += took\n"
    ),
    "duckdb": (
        "import duckdb; duckdb.sql('set threads=1; set enable_progress_bar=false')\n"
        "opened = f\"read_json('{path}', maximum_object_size=400000000)\"\n"
        "of_resource = f'select unnest(resourceSpans) r from {opened}'\n"
        "of_scope = f'select unnest(r.scopeSpans) s from ({of_resource})'\n"
        "spans = f'select unnest(s.spans) span from ({of_scope})'\n"
        "took = 'sum(span.endTimeUnixNano::bigint - span.startTimeUnixNano::bigint)'\n"
        "duckdb.sql(f'select span.name, count(*), {took} from ({spans}) group by 1').fetchall()"
    ),
}
AROUND = """
import json, resource, sys, time
path, found = sys.argv[1], {{}}
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
start, before = time.perf_counter(), spent()
{work}
took, worked = time.perf_counter() - start, spent() - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([took, worked, peak, found.get("reduction")]))
"""


@dataclass(frozen=True)
class Run:
    """The time and memory that one reader of the trace needed. `reduction` has the compression
    figures of the reader's report, or None for a reader that does not compress."""

    wall_s: float
    processor_s: float
    peak_mb: float
    reduction: dict[str, float] | None


def piece(source: random.Random, number: int) -> list[tuple[str, int, int, int, int, int, int]]:
    """Returns the spans of one piece of the trace: block writes of 50 to 400 packets each. Each
    packet has a disk write and a call to the next replica. `number` is the position of the piece in
    the trace.

    A span is (name, start in ns, end in ns, span id, span id of the parent or 0, thread, bytes).
    """
    spans, at = [], START_NS + number * 10**12
    while len(spans) < SPANS_A_PIECE:
        packets, root = source.randrange(50, 400), len(spans) + 1
        begin = at
        spans.append(("write", begin, begin + packets * 60_000 + 900, root, 0, 7, 0))
        spans.append(("receiveBlock", begin + 100, begin + packets * 60_000, root + 1, root, 8, 0))
        for packet in range(packets):
            own, start = len(spans) + 1, begin + 200 + packet * 59_000
            disk = source.randrange(9_000, 30_000)
            spans.append(("receivePacket", start, start + 55_000, own, root + 1, 8, 65536))
            spans.append(("writeToDisk", start + 10, start + disk, own + 1, own, 8, 65536))
            spans.append(("mirror", start + disk, start + 50_000, own + 2, own, 8, 65536))
        at += packets * 60_000 + 10**6
    return spans


def write(folder: Path) -> tuple[dict[str, Path], int]:
    """Writes the trace in both encodings, piece by piece, until the JSON file has the required
    size. Returns the path of each encoding and the number of spans.
    """
    paths = {form: folder / f"trace.{form}" for form in ("json", "protobuf")}
    source, total, number = random.Random(SEED), 0, 0
    while not paths["json"].exists() or paths["json"].stat().st_size < MEGABYTES * 10**6:
        spans = piece(source, number)
        table = _core.SpanTable(*zip(*spans, strict=True))
        for form, path in paths.items():
            part = folder / "part"
            _core.trace_write(table, "datanode", str(part), form)
            with path.open("ab") as whole:
                whole.write(part.read_bytes())
        total, number = total + len(spans), number + 1
    return paths, total


def run(work: str, path: Path) -> Run:
    """Runs the reader `work` several times in separate processes. Returns the medians of its times
    and its largest memory.
    """
    code, runs = AROUND.format(work=WORK[work]), []
    for _ in range(RUNS[work]):
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        runs.append(Run(*json.loads(done.stdout.splitlines()[-1])))
    return Run(
        statistics.median(one.wall_s for one in runs),
        statistics.median(one.processor_s for one in runs),
        max(one.peak_mb for one in runs),
        runs[0].reduction,
    )


def show(runs: dict[str, Run], spans: int, json_mb: float, console: Console) -> dict[str, float]:
    """Prints a table of the readers, and whether their figures meet the bars. Returns the figures
    of both encodings by name.
    """
    table = Table(title=f"{spans:,} spans, {json_mb:,.0f} MB of JSON")
    for column in ("reader", "Mspan/s of processor time", "by the wall clock", "peak MB"):
        table.add_column(column, justify="left" if column == "reader" else "right")
    rates = {reader: spans / one.processor_s / 1e6 for reader, one in runs.items()}
    walls = {reader: spans / one.wall_s / 1e6 for reader, one in runs.items()}
    for reader, one in runs.items():
        table.add_row(reader, f"{rates[reader]:.2f}", f"{walls[reader]:.2f}", f"{one.peak_mb:,.0f}")
    console.print(table)
    binary, text, python = "dfslab, protobuf", "dfslab, JSON", "Python, JSON"
    figures = {
        "protobuf_mspans_per_s": rates[binary],
        "protobuf_mspans_per_s_wall": walls[binary],
        "json_mspans_per_s": rates[text],
        "json_mspans_per_s_wall": walls[text],
        "python_mspans_per_s": rates[python],
        "protobuf_vs_python": rates[binary] / rates[python],
        "json_vs_python": rates[text] / rates[python],
        "vs_duckdb": walls[text] / walls["DuckDB, JSON"],
        "vs_python": walls[text] / walls[python],
    }
    for pair in PAIRS:
        for line in pair.lines(figures):
            console.print(line, soft_wrap=True, highlight=False)
    return figures


def main() -> None:
    """Runs the bench. Prints the table, and the figures as the last line."""
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-trace-") as name:
        paths, spans = write(Path(name))
        sizes = {form: path.stat().st_size / 1e6 for form, path in paths.items()}
        for path in paths.values():
            # The files are forced to disk now, so that write-back does not disturb the readers.
            with path.open("rb") as written:
                os.fsync(written.fileno())
        runs = {
            "dfslab, protobuf": run("ours", paths["protobuf"]),
            "dfslab, JSON": run("ours", paths["json"]),
            "DuckDB, JSON": run("duckdb", paths["json"]),
            "Python, JSON": run("python", paths["json"]),
        }
        report = run("report", paths["protobuf"])
    figures = show(runs, spans, sizes["json"], Console(stderr=False))
    assert report.reduction is not None
    peaks = (report, runs["dfslab, protobuf"], runs["dfslab, JSON"])
    print(
        json.dumps(
            {
                "spans": spans,
                "json_mb": sizes["json"],
                "trees_reduction": report.reduction["trees_removed"],
                **figures,
                "peak_rss_mb": max(one.peak_mb for one in peaks),
                "bars": judged(BARS, figures),
            }
        )
    )


if __name__ == "__main__":
    main()
