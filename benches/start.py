"""Measures the start-up time of commands relative to `python -c pass`. The last line is one JSON
object.

The measure is the processor time (user and kernel) of the whole process, which does not depend on
waiting. Commands run in alternation, and the smallest time of each command over the rounds counts.
The bytecode of all Python modules exists before the first round, as after every installation.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bars import Bar, judged

ROUNDS = int(os.environ.get("DFSLAB_BENCH_ROUNDS", "5"))
DFSLAB = str(Path(sys.executable).with_name("dfslab"))
BARS = {
    "help_vs_python": Bar(6),
    "list_vs_python": Bar(12),
    "predict_vs_python": Bar(60),
    "advise_vs_python": Bar(40),
}
PREDICTED = """
schema = 1
name = "one"
[[deployment.node]]
name = "machine"
cores = 4
memory = "16 GiB"
roles = { client = 1, namenode = 1, datanode = 3 }
disk = { read_rate = "1 GB/s", write_rate = "1 GB/s", latency = "100 us" }
[file_system]
name = "hdfs"
access = { testbed = true }
[workload]
name = "sequential_write"
file_size = "64 MB"
clients = 4
[run]
methods = ["sequence"]
"""
FINISHED = """
schema = 1
name = "finished"
[[deployment.node]]
name = "machine"
cores = 2
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "metadata"
operation = "create"
operations_per_client = 200
[run]
repetitions = 2
methods = ["measure", "sequence"]
[[sweep]]
"workload.operation" = ["create", "stat"]
"workload.clients" = [1, 2]
"""


def processor_s(command: list[str]) -> float:
    """Runs a command and returns its processor seconds. Raises an error if the command's exit code
    is not 0."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(folder: Path) -> dict[str, float]:
    """Returns the smallest processor time in seconds of every command."""
    predicted, finished = folder / "predicted.toml", folder / "finished.toml"
    predicted.write_text(PREDICTED, encoding="utf-8")
    finished.write_text(FINISHED, encoding="utf-8")
    runs = folder / "runs"
    subprocess.run(
        [DFSLAB, "run", str(finished), "--out", str(runs)], check=True, stdout=subprocess.DEVNULL
    )
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "help": [DFSLAB, "--help"],
        "list": [DFSLAB, "list"],
        "predict": [DFSLAB, "predict", str(predicted), "--method", "sequence"],
        "advise": [DFSLAB, "advise", str(runs / "finished" / "latest")],
    }
    for command in commands.values():
        processor_s(command)  # the first run of each only brings bytecode and files into memory
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(processor_s(command))
    return {name: min(found) for name, found in times.items()}


def main() -> None:
    """Runs the bench. Prints each ratio with its bar, and the ratios as one JSON object on the last
    line.
    """
    with tempfile.TemporaryDirectory(prefix="dfslab-bench-start-") as name:
        seconds = measured(Path(name))
    alone_s = seconds.pop("python")
    print(f"python -c pass: {1000 * alone_s:.1f} ms of processor time, least of {ROUNDS}")
    ratios = {f"{name}_vs_python": one / alone_s for name, one in seconds.items()}
    for name, one in seconds.items():
        key = f"{name}_vs_python"
        kept = "yes" if BARS[key].kept(ratios[key]) else "no"
        print(
            f"dfslab {name}: {1000 * one:.0f} ms, {ratios[key]:.1f} times; bar {BARS[key]}: {kept}"
        )
    print(json.dumps({**ratios, "bars": judged(BARS, ratios)}))


if __name__ == "__main__":
    main()
