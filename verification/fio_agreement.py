"""Measures the same work by fio and by dfslab in turn, and says whether they agree within 3 %.

`python -m verification.fio_agreement DIRECTORY [--pairs N] [--seconds S] [--real-time]` needs fio.
Each job runs by both tools in alternating order; the ratio of a pair is dfslab's rate over fio's.
The verdict uses the 90 % interval of the mean logarithm of the ratios, so that noise is no
agreement. With `--real-time` (root) both tools run before all others on a busy machine.
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
# Name -> options, which both tools get as they are.
JOBS = {
    "reads of 1 MiB from the page cache": ("--rw=randread", "--bs=1m", "--norandommap"),
    "reads of 64 KiB from the page cache": ("--rw=randread", "--bs=64k", "--norandommap"),
    "reads of 4 KiB, 1 ms of thinking": ("--rw=randread", "--bs=4k", "--thinktime=1ms"),
    "direct reads of 64 KiB": ("--rw=randread", "--bs=64k", "--direct=1", "--norandommap"),
    "writes of 1 MiB over a file": ("--rw=write", "--bs=1m", "--overwrite=1"),
}
# Options of fio that dfslab always follows, and therefore refuses to be given.
ALWAYS = ("--overwrite=1",)


@dataclass(frozen=True)
class Agreement:
    """The ratios of one job's pairs: their mean, and the ends of its 90 % interval."""

    job: str
    ratios: tuple[float, ...]

    def interval(self) -> tuple[float, float, float]:
        """(mean, low, high) of the ratio; the mean is geometric."""
        logarithms = [math.log(one) for one in self.ratios]
        mean, number = statistics.mean(logarithms), len(logarithms)
        spread = statistics.stdev(logarithms) / math.sqrt(number)
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, number - 1)) * spread
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    def verdict(self) -> str:
        """Whether the interval lies within the tolerance, outside it, or neither."""
        _, low, high = (math.log(one) for one in self.interval())
        if low >= -TOLERANCE and high <= TOLERANCE:
            return "agree"
        return "differ" if low > TOLERANCE or high < -TOLERANCE else "too noisy to say"


def by_fio(options: Sequence[str]) -> float:
    """The transfers a second that fio reports."""
    done = subprocess.run(
        ["fio", "--name=job", "--output-format=json", "--ioengine=psync", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    (job,) = json.loads(done.stdout)["jobs"]
    return float(job["read"]["iops"] + job["write"]["iops"])


def by_dfslab(options: Sequence[str]) -> float:
    """The transfers a second that dfslab reports for the same options."""
    given = [one for one in options if one not in ALWAYS]
    chosen, _ = compat.read("fio", ["--name=job", *given])
    (result,) = commands_work.measure(Laboratory(), chosen)
    return result.value("rate_per_s")


def measured(
    job: str, options: Sequence[str], directory: Path, pairs: int, seconds: int
) -> Agreement:
    """Both tools in turn; the first of a pair changes from pair to pair."""
    given = [*COMMON, f"--runtime={seconds}", f"--directory={directory}", *options]
    ratios = []
    for pair in range(pairs):
        tools = (by_fio, by_dfslab) if pair % 2 else (by_dfslab, by_fio)
        rates = {tool: tool(given) for tool in tools}
        ratios.append(rates[by_dfslab] / rates[by_fio])
    return Agreement(job, tuple(ratios))


def main() -> None:
    """Prints one line for each job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--real-time", action="store_true")
    given = parser.parse_args()
    if given.real_time:
        # Children and threads inherit it.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    for job, options in JOBS.items():
        found = measured(job, options, given.directory, given.pairs, given.seconds)
        mean, low, high = found.interval()
        said = f"{mean:.3f} ({low:.3f} to {high:.3f}): {found.verdict()}"
        print(f"{job}: dfslab/fio {said}", flush=True)


if __name__ == "__main__":
    main()
