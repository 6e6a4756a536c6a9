"""Measures the same work by fio and by dfslab in turn, and says whether they agree within 3 %.

`python -m verification.fio_agreement DIRECTORY [--pairs N] [--seconds S] [--real-time]` needs fio.
Each job runs by both tools in alternating order; the ratio of a pair is dfslab's rate over fio's.
The verdict uses the 90 % interval of the mean logarithm of the ratios, so a noisy result does not
count as agreement. With `--real-time` (root) both tools run before all others on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab.cli import commands_work, compat
from dfslab.laboratory import Laboratory
from scipy import stats

TOLERANCE = math.log(1.03)
CONFIDENCE = 0.9
PRIORITY = 10
COMMON = ("--size=64m", "--time_based", "--invalidate=0", "--thread")
# Each job by name, with its options, which both tools get unchanged.
JOBS = {
    "reads of 1 MiB from the page cache": ("--rw=randread", "--bs=1m", "--norandommap"),
    "reads of 64 KiB from the page cache": ("--rw=randread", "--bs=64k", "--norandommap"),
    "reads of 4 KiB, 1 ms of thinking": ("--rw=randread", "--bs=4k", "--thinktime=1ms"),
    "direct reads of 64 KiB": ("--rw=randread", "--bs=64k", "--direct=1", "--norandommap"),
    "writes of 1 MiB over a file": ("--rw=write", "--bs=1m", "--overwrite=1"),
}
# Options of fio that describe what dfslab always does. They are not given to dfslab, because it
# refuses them.
ALWAYS = ("--overwrite=1",)


@dataclass(frozen=True)
class Agreement:
    """The ratios of dfslab's rate to fio's rate for one job, one for each pair of runs. The methods
    return the mean ratio with its interval and the verdict."""

    job: str
    ratios: tuple[float, ...]

    def interval(self) -> tuple[float, float, float]:
        """Returns (geometric mean, low end, high end) of the 90 % interval of the ratio."""
        logarithms = [math.log(one) for one in self.ratios]
        mean, number = statistics.mean(logarithms), len(logarithms)
        spread = statistics.stdev(logarithms) / math.sqrt(number)
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, number - 1)) * spread
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    def verdict(self) -> str:
        """Returns whether the interval lies within the tolerance of 3 %, outside it, or partly in
        both, so that nothing can be concluded."""
        _, low, high = (math.log(one) for one in self.interval())
        if low >= -TOLERANCE and high <= TOLERANCE:
            return "agree"
        return "differ" if low > TOLERANCE or high < -TOLERANCE else "too noisy to say"


def by_fio(options: Sequence[str]) -> float:
    """Returns the transfers per second that fio reports for these options."""
    done = subprocess.run(
        ["fio", "--name=job", "--output-format=json", "--ioengine=psync", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    (job,) = json.loads(done.stdout)["jobs"]
    return float(job["read"]["iops"] + job["write"]["iops"])


def by_dfslab(options: Sequence[str]) -> float:
    """Returns the transfers per second that dfslab reports for the same options of fio."""
    given = [one for one in options if one not in ALWAYS]
    chosen, _ = compat.read("fio", ["--name=job", *given])
    (result,) = commands_work.measure(Laboratory(), chosen)
    return result.value("rate_per_s")


def measured(
    job: str, options: Sequence[str], directory: Path, pairs: int, seconds: int
) -> Agreement:
    """Runs both tools `pairs` times for `seconds` each, and returns the ratios of their rates. The
    tool that runs first changes from pair to pair."""
    given = [*COMMON, f"--runtime={seconds}", f"--directory={directory}", *options]
    ratios = []
    for pair in range(pairs):
        tools = (by_fio, by_dfslab) if pair % 2 else (by_dfslab, by_fio)
        rates = {tool: tool(given) for tool in tools}
        ratios.append(rates[by_dfslab] / rates[by_fio])
    return Agreement(job, tuple(ratios))


def main() -> None:
    """Runs every job by both tools and prints one line with the verdict for each job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--real-time", action="store_true")
    given = parser.parse_args()
    if given.real_time:
        # Child processes and threads of this process inherit the real-time priority.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    for job, options in JOBS.items():
        found = measured(job, options, given.directory, given.pairs, given.seconds)
        mean, low, high = found.interval()
        said = f"{mean:.3f} ({low:.3f} to {high:.3f}): {found.verdict()}"
        print(f"{job}: dfslab/fio {said}", flush=True)


if __name__ == "__main__":
    main()
