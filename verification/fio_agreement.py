"""Runs the same jobs in turn by fio and by dfslab, and reports whether their results agree within 3
%.

`python -m verification.fio_agreement DIRECTORY [--pairs N] [--seconds S] [--causes] [--real-time]`
needs fio. A ratio is dfslab's figure divided by fio's figure. The verdict uses the 90 % interval of
the mean logarithm of the ratios, so it is undecided if the ratios are noisy. Both tools run under
the same conditions, see `Conditions`. With `--causes`, fio also runs under each set of conditions
in CAUSES. With `--real-time` (root), both tools have priority over all other programs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab import quantiles
from dfslab.cli import commands_work, compat
from dfslab.laboratory import Laboratory

TOLERANCE = math.log(1.03)
PRIORITY = 10
FILE_BYTES = 64 << 20
COMMON = ("--size=64m", "--time_based", "--invalidate=0", "--thread")
# Name of fio's job, and of the file that fio uses for it.
NAME = "job"
FILE_NAME = "job.0.0"


@dataclass(frozen=True)
class Conditions:
    """The conditions under which fio gets its file and its memory. dfslab works under the
    conditions `EQUAL`, or under `DIRECT` for transfers past the page cache.

    - `keeps_file`: if true, the file is written before fio starts, in transfers of the job's size,
      and stays in the page cache. If false, fio writes the file and removes it from the page cache,
      even with `invalidate=0`. The reads of fio then bring the file back in pages of 4 KiB.
    - `aligns_buffer`: if true, the transfer buffer starts at a page. If false, the buffer of
      buffered transfers starts where `malloc` places it: at a multiple of 16 bytes, which is
      usually no multiple of 64 bytes.
    """

    keeps_file: bool
    aligns_buffer: bool


EQUAL = Conditions(keeps_file=True, aligns_buffer=True)
DIRECT = Conditions(keeps_file=False, aligns_buffer=True)
CAUSES = {
    "fio's own file and buffer": Conditions(keeps_file=False, aligns_buffer=False),
    "fio's own file, aligned buffer": Conditions(keeps_file=False, aligns_buffer=True),
    "file kept in the cache, fio's own buffer": Conditions(keeps_file=True, aligns_buffer=False),
}


@dataclass(frozen=True)
class Job:
    """One job that both tools run. A job has the options that both tools get unchanged, and the
    bytes of one transfer."""

    options: tuple[str, ...]
    transfer_bytes: int

    def equal_conditions(self) -> Conditions:
        """Returns the conditions of fio that equal the conditions of dfslab. For direct reads, fio
        itself writes the file and removes it from the page cache. Otherwise data in the page cache
        would have to be written back during the reads."""
        return DIRECT if "--direct=1" in self.options else EQUAL


JOBS = {
    "reads of 1 MiB from the page cache": Job(
        ("--rw=randread", "--bs=1m", "--norandommap"), 1 << 20
    ),
    "reads of 64 KiB from the page cache": Job(
        ("--rw=randread", "--bs=64k", "--norandommap"), 64 << 10
    ),
    "reads of 4 KiB, 1 ms of thinking": Job(
        ("--rw=randread", "--bs=4k", "--thinktime=1ms"), 4 << 10
    ),
    "direct reads of 64 KiB": Job(
        ("--rw=randread", "--bs=64k", "--direct=1", "--norandommap"), 64 << 10
    ),
    "writes of 1 MiB over a file": Job(("--rw=write", "--bs=1m", "--overwrite=1"), 1 << 20),
}
# Options that make fio behave as dfslab always does. These options are given to fio only. `dfslab
# compat fio` refuses them.
ALWAYS = ("--overwrite=1",)


@dataclass(frozen=True)
class Measured:
    """The result of one run of one tool. The result has the transfers per second of wall time, and
    the seconds of processor time for each transfer."""

    rate_per_s: float
    processor_s: float


@dataclass(frozen=True)
class Agreement:
    """The ratios of one job. Each pair of runs gives one ratio, which is dfslab's figure divided by
    fio's."""

    job: str
    ratios: tuple[float, ...]

    def interval(self) -> tuple[float, float, float]:
        """Returns (mean, low, high): the geometric mean of the ratios, and its 90 % interval."""
        logarithms = [math.log(one) for one in self.ratios]
        mean, number = statistics.mean(logarithms), len(logarithms)
        spread = statistics.stdev(logarithms) / math.sqrt(number)
        half = quantiles.student((1 + quantiles.CONFIDENCE) / 2, number - 1) * spread
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    def verdict(self) -> str:
        """Returns "agree" if the whole interval is within the tolerance, and "differ" if the whole
        interval is outside it. Returns "too noisy to say" otherwise."""
        _, low, high = (math.log(one) for one in self.interval())
        if low >= -TOLERANCE and high <= TOLERANCE:
            return "agree"
        return "differ" if low > TOLERANCE or high < -TOLERANCE else "too noisy to say"

    def __str__(self) -> str:
        mean, low, high = self.interval()
        return f"{self.job}: {mean:.3f} ({low:.3f} to {high:.3f})"


def prepared(conditions: Conditions, transfer_bytes: int, directory: Path) -> list[str]:
    """Returns the options with which fio works under the given conditions. If the conditions
    require that the file exists before fio starts, the file is created in `directory`."""
    options = [f"--directory={directory}"]
    if conditions.keeps_file:
        with open(directory / FILE_NAME, "xb", buffering=0) as file:
            for _ in range(FILE_BYTES // transfer_bytes):
                file.write(os.urandom(transfer_bytes))
        # With this option, fio fails if it does not find the file. Without the option, fio would
        # write another file.
        options.append("--allow_file_create=0")
    if conditions.aligns_buffer:
        options.append("--iomem_align=4k")
    return options


def figures_of_fio(output: str) -> Measured:
    """Returns the rate and the processor time in fio's JSON output, which must have exactly one
    job. Raises ValueError if there is no transfer."""
    (job,) = json.loads(output)["jobs"]
    transfers = job["read"]["total_ios"] + job["write"]["total_ios"]
    if not transfers:
        raise ValueError("fio's output counts no transfer: run it for longer")
    # fio reports processor time in percent of the job's run time, which is in ms.
    busy_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return Measured(float(job["read"]["iops"] + job["write"]["iops"]), busy_s / transfers)


def by_fio(job: Job, common: Sequence[str], conditions: Conditions, directory: Path) -> Measured:
    """Runs a job by fio and returns its figures. fio uses a file in a new subdirectory of
    `directory`. The subdirectory is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=directory) as own:
        of_conditions = prepared(conditions, job.transfer_bytes, Path(own))
        given = [f"--name={NAME}", *common, *job.options, *of_conditions]
        done = subprocess.run(
            ["fio", "--output-format=json", "--ioengine=psync", *given],
            capture_output=True,
            text=True,
            check=True,
        )
    return figures_of_fio(done.stdout)


def by_dfslab(job: Job, common: Sequence[str], directory: Path) -> Measured:
    """Runs a job by `dfslab compat fio` and returns its figures. The options are those of fio
    without the options in ALWAYS. Raises ValueError if the result has no processor time."""
    own = [one for one in job.options if one not in ALWAYS]
    given = [f"--name={NAME}", *common, *own, f"--directory={directory}"]
    chosen, _ = compat.read("fio", given)
    (result,) = commands_work.measure(Laboratory(), chosen)
    load = result.load
    if load is None or load.cpu_s is None:
        raise ValueError("the result of dfslab has no processor time")
    transfers = sum(one.count for one in load.operations.values())
    busy_s = load.cpu_s.user + load.cpu_s.system
    return Measured(result.value("rate_per_s"), busy_s / transfers)


def measured(
    name: str, directory: Path, pairs: int, seconds: int, causes: dict[str, Conditions]
) -> tuple[Agreement, Agreement, list[Agreement]]:
    """Runs both tools in pairs of runs. The tool that runs first changes from pair to pair. Returns
    three results, each with one ratio (dfslab / fio) for each pair:

    - the ratio of the rates under equal conditions
    - the ratio of the processor times per transfer under equal conditions
    - for each of the conditions in `causes`, the ratio of dfslab's rate under equal conditions to
      fio's rate under the conditions of the cause
    """
    job, common = JOBS[name], [*COMMON, f"--runtime={seconds}"]
    conditions = job.equal_conditions()
    rates: dict[str, list[float]] = {cause: [] for cause in causes}
    equal: list[float] = []
    processor: list[float] = []
    for pair in range(pairs):
        if pair % 2:
            fio = by_fio(job, common, conditions, directory)
            ours = by_dfslab(job, common, directory)
        else:
            ours = by_dfslab(job, common, directory)
            fio = by_fio(job, common, conditions, directory)
        equal.append(ours.rate_per_s / fio.rate_per_s)
        processor.append(ours.processor_s / fio.processor_s)
        for cause, changed in causes.items():
            other = by_fio(job, common, changed, directory)
            rates[cause].append(ours.rate_per_s / other.rate_per_s)
    return (
        Agreement(name, tuple(equal)),
        Agreement("processor time per transfer", tuple(processor)),
        [Agreement(cause, tuple(ratios)) for cause, ratios in rates.items()],
    )


def main() -> None:
    """Prints one line for each job. The line has the ratio of the rates, the verdict, the ratio of
    the processor times, and the ratios of the rates under other conditions of fio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--real-time", action="store_true")
    given = parser.parse_args()
    if given.real_time:
        # Child processes and threads inherit this priority.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    print("dfslab/fio, mean and 90 % interval")
    for name, job in JOBS.items():
        causes = CAUSES if given.causes and job.equal_conditions() == EQUAL else {}
        rate, processor, others = measured(
            name, given.directory, given.pairs, given.seconds, causes
        )
        print(f"{rate}: {rate.verdict()}")
        for one in (processor, *others):
            print(f"    {one}", flush=True)


if __name__ == "__main__":
    main()
