"""Compares the speed of our load generator, sequence model and net engine with the speed of one
peer each, as ratios within one run. The last line is one JSON object.

A peer is the smallest loop that does the same work with Python's standard library. The compared
times are differences in processor time between a short and a long run of the same work. Start-up
and other programs on the machine therefore have no effect.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dfslab import _core
from dfslab.models.tree.prediction import Situation
from dfslab.spec.scenario import read
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
ROUNDS = 5


def cpu_s() -> float:
    """Returns the processor seconds of this process, including threads and kernel."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def load_ns(target: dict, operation: str, count: int, size: int) -> float:
    """Returns the processor time of one operation of our load generator on `target`, in ns. This
    time is computed from the difference between a run of `count` and a run of 4 x `count`
    operations, which excludes the start-up. The result is the median over ROUNDS such pairs of
    runs. `size` is the file size in bytes."""
    slopes = []
    for _ in range(ROUNDS):
        spent = []
        for operations in (count, 4 * count):
            stream = {
                "seed": 1,
                "clients": 1,
                "operations_per_client": operations,
                "files_per_client": 16,
                "mix": [{"operation": operation, "weight": 1.0}],
                "file_size": {"fixed": size},
                "transfer_size_bytes": max(size, 4096),
            }
            plan = {"stream": stream, "target": target, "run_directory": f"dfslab-{os.getpid()}"}
            report = json.loads(_core.run_load(json.dumps(plan))[0])
            assert report["complete"]
            spent.append(report["cpu_s"]["user"] + report["cpu_s"]["system"])
        slopes.append((spent[1] - spent[0]) / (3 * count) * 1e9)
    return sorted(slopes)[ROUNDS // 2]


def python_stat_ns(folder: str, count: int) -> float:
    """Returns the time in ns of a stat call in a Python loop that reads the clock before and after
    each call. This loop is the peer of our load generator.
    """
    path = Path(folder) / "peer"
    path.touch()
    slopes = []
    for _ in range(ROUNDS):
        spent = []
        for operations in (count, 4 * count):
            before, times = cpu_s(), []
            for _ in range(operations):
                start = time.perf_counter_ns()
                os.stat(path)
                times.append(time.perf_counter_ns() - start)
            spent.append(cpu_s() - before)
        slopes.append((spent[1] - spent[0]) / (3 * count) * 1e9)
    path.unlink()
    return sorted(slopes)[ROUNDS // 2]


def predictions_per_s() -> float:
    """Returns the number of predictions of the sequence model per second, over the configurations
    of scenarios/hdfs.toml.
    """
    scenario = read(ROOT / "scenarios" / "hdfs.toml")
    situations = [Situation(point.scenario) for point in scenario.points()]
    for situation in situations:
        situation.predict(situation.constants)
    before = cpu_s()
    for situation in situations:
        situation.predict(situation.constants)
    return len(situations) / (cpu_s() - before)


def net_figures() -> dict[str, float]:
    """Runs the bench of the net engine. Returns the figures in the JSON object that the bench
    prints on its last line."""
    answer = subprocess.run(
        ["cargo", "bench", "--quiet", "--locked", "-p", "dfslab-net", "--bench", "firings"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    print(answer.stdout)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def main() -> None:
    """Runs the bench. Prints a table, then the figures as one JSON object."""
    figures = dict(net_figures())
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-", dir="/dev/shm") as folder:
        posix = {"kind": "posix", "root": folder}
        figures["null_stat_ns_per_op"] = load_ns({"kind": "null"}, "stat", 300_000, 0)
        figures["tmpfs_stat_ns_per_op"] = load_ns(posix, "stat", 100_000, 0)
        figures["tmpfs_read_64k_ns_per_op"] = load_ns(posix, "read", 10_000, 65536)
        figures["python_stat_ns_per_op"] = python_stat_ns(folder, 100_000)
    ours, peer = figures["tmpfs_stat_ns_per_op"], figures["python_stat_ns_per_op"]
    figures["python_over_load_stat"] = peer / ours
    figures["sequence_predictions_per_s"] = predictions_per_s()
    table = Table(title="Speed (processor time, one run)")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.4g}")
    Console().print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
