"""`make verify`: every recording against every bar, constants varied, every case of every grid.

Ends with 1 when a figure that met its bar in the committed table no longer does, when one cannot be
computed, or when a case of a grid fails. A known miss is printed as one and counted; it is no
failure. `--share` computes some of the recordings, one of each experiment at least, and compares
them with the committed table, which it leaves as it is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from threadpoolctl import threadpool_limits

from verification import variation
from verification.experiments import EXPERIMENTS, computed, tasks
from verification.figures import Figure, bars, committed, differences, lost, missing, save, shown
from verification.page import PAGE, closing, page
from verification.sampling import commit, sampled

ROOT = PAGE.parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the verification; returns the exit code."""
    asked = _arguments(arguments)
    wanted = tasks() if asked.share >= 1 else chosen(asked.share, asked.seed)
    what = "every recording" if asked.share >= 1 else f"--share {asked.share} --seed {asked.seed}"
    print(f"verification: {what}", flush=True)
    started = time.monotonic()
    figures, failed = compute(wanted, asked.workers)
    before = committed()
    wrong = [*failed, *lost(figures, before), *missing(figures, before, wanted)]
    changed = differences(figures, before)
    print(f"{closing(figures)} ({time.monotonic() - started:.0f} s)")
    variations = variation.compute(varied(asked.share, asked.seed), asked.workers)
    moved = variation.differences(variations, variation.committed())
    print(f"constants varied ({time.monotonic() - started:.0f} s)", flush=True)
    if asked.share < 1:
        wrong += [*changed, *moved]
    elif not wrong or (asked.accept and not failed):
        # Do not save a table with a lost figure, because the next run would no longer report the
        # loss.
        save(figures)
        variation.save(variations)
        PAGE.write_text(page(committed(), variation.committed()), encoding="utf-8")
        other = [*changed, *moved]
        print("\n".join(["otherwise than in the committed table:", *other] if other else []))
    if asked.grids:
        wrong += [] if grids(asked.share, asked.seed, asked.workers) == 0 else ["a grid fails"]
    for text in wrong:
        print(f"FAILED: {text}")
    return 1 if wrong else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m verification.run", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of each experiment")
    parser.add_argument("--seed", default=commit(), help="which recordings (default: the commit)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--accept", action="store_true", help="keep the table although figures are lost"
    )
    parser.add_argument(
        "--no-grids", dest="grids", action="store_false", help="the recordings alone"
    )
    return parser.parse_args(arguments)


def chosen(share: float, seed: str) -> list[tuple[str, str]]:
    """(experiment, recording) for a share of each experiment's recordings, at least one."""
    kept = {name: sampled(one.subjects(), share, seed) for name, one in EXPERIMENTS.items()}
    return [(name, subject) for name, subject in tasks() if subject in kept[name]]


def varied(share: float, seed: str) -> list[tuple[str, str]]:
    """(constant, experiment) for a share of the variations of constants."""
    names = {f"{constant} {experiment}" for constant, experiment in variation.tasks()}
    kept = names if share >= 1 else sampled(names, share, seed)
    return [task for task in variation.tasks() if " ".join(task) in kept]


def compute(wanted: Sequence[tuple[str, str]], workers: int) -> tuple[list[Figure], list[str]]:
    """(figures in the order of the tasks, tasks that failed); figures are also printed when
    computed."""
    figures: list[Figure] = []
    failed = []
    # Each worker uses one core, because libraries with several threads would compete for the cores.
    with ProcessPoolExecutor(workers, initializer=partial(threadpool_limits, 1)) as pool:
        answers = [(task, pool.submit(computed, task)) for task in wanted]
        for task, answer in answers:
            error = answer.exception()
            if error is None:
                figures += answer.result()
                print("\n".join(map(line, answer.result())), flush=True)
            else:
                failed.append(f"{' / '.join(task)}: {error!r}")
    return figures, failed


def line(one: Figure) -> str:
    """A figure as one line of text."""
    bar = bars()[one.bar]
    value = "-" if one.value is None else shown(one.value, bar.unit)
    return (
        f"{one.verdict:4}  {one.bar:22} {value:>9} {one.points:5}  "
        f"{one.recording}{': ' if one.part else ''}{one.part}"
    )


def grids(share: float, seed: str, workers: int) -> int:
    """Run the test cases marked `grid` by pytest; returns pytest's exit code."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests",
            "--ignore",
            "tests/testbed",
            "-m",
            "grid",
            f"--grid-share={share}",
            f"--grid-seed={seed}",
            "-n",
            str(workers),
            "--dist",
            "worksteal",
        ],
        cwd=ROOT,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
