"""The paper's Spark jobs on a real HDFS: what its functions took in all, and what would gain most.

`liu_spark.py [SIZE [JOB ...]]` runs spark_jobs.py by the Python of .venv/spark, every JVM traced.
A job's steps are ranked by what halving each would take off its calls of HDFS; the paper ranked by
summed time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dfslab.filesystems.hdfs.bed import Bed
from dfslab.instruments import callprofile
from dfslab.studies import gain
from rich.console import Console
from rich.table import Table
from traced import between, snapshot

JOBS = ("wordcount", "sort", "terasort", "pagerank", "logistic_regression", "nweight", "bayes")
SCRIPT = Path(__file__).with_name("spark_jobs.py")
PYTHON = Path(__file__).parent.parent / ".venv" / "spark" / "bin" / "python"
BED = {"datanodes": 2, "replication": 2, "trace": True, "trace_interval_s": 1}
JOB_LIMIT_S = 600.0
MOST_STEPS = 3
# What the paper names, by our steps; a close holds the wait for acknowledgements and its retries.
FUNCTIONS = {
    "FileSystem#createFileSystem": "create_file_system", "DFSOutputStream#close": "close",
    "sendBlock": "send_block", "getBlockLocations": "locate_blocks", "write to disk": "write_disk",
    "flush to disk": "flush_disk", "back-off": "complete_back_off",
}  # fmt: skip


def job(bed: Bed, profiles: Path, name: str, size: str) -> dict[str, Any]:
    """Run one job to its end: its seconds, and those of the functions in all processes."""
    before = snapshot(profiles)
    began = time.monotonic()
    subprocess.run([PYTHON, SCRIPT, name, size], env=bed.client_environment(), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=JOB_LIMIT_S)  # fmt: skip
    took_s = time.monotonic() - began
    after = snapshot(profiles)
    files = [file for file in between(before, after) if any(row.count for row in file.nodes)]
    top = callprofile.merge((f"{file.instance}-{file.pid}", file) for file in files)
    totals = dict.fromkeys(FUNCTIONS, 0.0)
    counts = dict.fromkeys(FUNCTIONS, 0)
    for _, node in callprofile.walk(top):
        for function, step in FUNCTIONS.items():
            if node.name.rpartition(":")[2] == step:
                totals[function] += node.total_ns / 1e9
                counts[function] += node.count
    return {"job": name, "size": size, "took_s": took_s, "totals_s": totals, "counts": counts,
            **bottlenecks(top)}  # fmt: skip


def bottlenecks(top: callprofile.Node) -> dict[str, Any]:
    """The job's seconds in HDFS, and its steps by what halving each would save of them."""
    found = gain.savings(top)
    steps: dict[str, float] = {}
    for step in found["steps"]:
        # One step has many places: under each operation and each caller.
        name = step["step"].rpartition("/")[2].rpartition(":")[2]
        steps[name] = steps.get(name, 0.0) + step["saving"]
    ranked = sorted(steps.items(), key=lambda one: -one[1])
    return {"hdfs_s": found["end_to_end_s"], "gains": dict(ranked[:MOST_STEPS])}


def main() -> None:
    """Run the jobs, print a table, then all figures as one JSON object."""
    size, *names = sys.argv[1:] or ["tiny"]
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="dfslab-bench-") as folder,
        Bed.up({**BED, "trace_directory": folder}, notify=print) as bed,
    ):
        for name in names or JOBS:
            rows.append(job(bed, Path(folder), name, size))
            print(json.dumps(rows[-1]), flush=True)
    drawn = Table(title=f"Seconds in all, {size} inputs")
    drawn.add_column("job")
    for column in ("whole job", *FUNCTIONS):
        drawn.add_column(column, justify="right")
    for row in rows:
        drawn.add_row(row["job"], f"{row['took_s']:.1f}",
                      *(f"{row['totals_s'][name]:.2f}" for name in FUNCTIONS))  # fmt: skip
    Console(width=150).print(drawn)
    drawn = Table(title="What halving a step would save of a job's calls of HDFS")
    for column in ("job", "in HDFS", *("bottleneck",) * MOST_STEPS):
        drawn.add_column(column)
    for row in rows:
        drawn.add_row(row["job"], f"{row['hdfs_s']:.1f} s",
                      *(f"{name} {part:.0%}" for name, part in row["gains"].items()))  # fmt: skip
    Console(width=150).print(drawn)
    print(json.dumps({"jobs": rows}))


if __name__ == "__main__":
    sys.exit(main())
