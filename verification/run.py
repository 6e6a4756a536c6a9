"""Runs `make verify`. The verification computes figures from every recording and compares the
figures with their bars (pass criteria). The verification also varies constants of the models to
show how far the figures depend on them, computes papers.md (the comparison with published papers),
and runs all cases of the tests that have the pytest mark `grid`.

The exit code is 1 in four cases: a figure that met its bar in the committed table now misses its
bar, a figure cannot be computed, papers.md is not current, or a case of a grid fails. A known miss
is printed and counted, but is no failure. `--share` computes a share of the recordings, at least
one of each experiment, and compares them with the committed table without changing the table.
`--only` adds the figures of new recordings to the table.
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

from verification.experiments import EXPERIMENTS, computed, tasks
from verification.figures import Figure, bars, committed, differences, lost, missing, save, shown
from verification.page import PAGE, closing, page
from verification.papers import page as papers
from verification.sampling import commit, sampled
from verification.sensitivity import variation

ROOT = PAGE.parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the verification and returns the exit code."""
    requested = _arguments(arguments)
    if requested.vary_missing:
        return vary_again(variation.absent(), requested.workers)
    if requested.vary_stale:
        return vary_again(variation.stale(requested.workers), requested.workers)
    if requested.only:
        return renew(requested.only, requested.workers)
    wanted = tasks() if requested.share >= 1 else chosen(requested.share, requested.seed)
    what = (
        "every recording"
        if requested.share >= 1
        else f"--share {requested.share} --seed {requested.seed}"
    )
    print(f"verification: {what}", flush=True)
    started = time.monotonic()
    figures, failed = compute(wanted, requested.workers)
    before = committed()
    wrong = [*failed, *lost(figures, before), *missing(figures, before, wanted)]
    changed = differences(figures, before)
    print(f"{closing(figures)} ({time.monotonic() - started:.0f} s)")
    variations = variation.compute(varied(requested.share, requested.seed), requested.workers)
    moved = variation.differences(variations, variation.committed())
    print(f"constants varied ({time.monotonic() - started:.0f} s)", flush=True)
    if requested.share < 1:
        wrong += [*changed, *moved]
    elif not wrong or (requested.accept and not failed):
        # A table with a lost figure is not saved. Such a figure met its bar in the committed table
        # and does not meet it now. If the table were saved, the next run would not report the loss.
        save(figures)
        variation.save(variations)
        PAGE.write_text(page(committed(), variation.committed()), encoding="utf-8")
        other = [*changed, *moved]
        print("\n".join(["otherwise than in the committed table:", *other] if other else []))
    wrong += papers.stale()
    if requested.grids:
        wrong += (
            []
            if grids(requested.share, requested.seed, requested.workers) == 0
            else ["a grid fails"]
        )
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
    parser.add_argument(
        "--vary-missing",
        action="store_true",
        help="only vary the constants that have no row in the committed table of variations",
    )
    parser.add_argument(
        "--vary-stale",
        action="store_true",
        help="only vary the constants of experiments whose figures, with all constants unchanged, "
        "differ from those in the committed table of variations",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="RECORDING",
        help="only compute the figures of these recordings, and keep all others as they are",
    )
    return parser.parse_args(arguments)


def renew(recordings: Sequence[str], workers: int) -> int:
    """Computes the figures of the named recordings, and writes them to the committed table and its
    page. All other figures are kept. Returns the exit code. The exit code is 1 if a name is not the
    name of a recording or if a figure cannot be computed. The table is then unchanged."""
    wanted = [task for task in tasks() if task[1] in recordings]
    unknown = sorted(set(recordings) - {subject for _, subject in wanted})
    figures, failed = compute(wanted, workers)
    wrong = [*(f"{name}: no recording in verification/data" for name in unknown), *failed]
    if wrong:
        print("\n".join(f"FAILED: {text}" for text in wrong))
        return 1
    save(merged(committed(), figures, wanted))
    PAGE.write_text(page(committed(), variation.committed()), encoding="utf-8")
    return 0


def merged(
    before: Sequence[Figure], found: Sequence[Figure], wanted: Sequence[tuple[str, str]]
) -> list[Figure]:
    """Returns the figures of `before` with those of the tasks `wanted` replaced by `found`. The
    result is in the order of all tasks. A task is (experiment, recording)."""
    kept = [one for one in before if (one.experiment, one.recording) not in wanted]
    order = {task: place for place, task in enumerate(tasks())}
    return sorted([*kept, *found], key=lambda one: order[one.experiment, one.recording])


def chosen(share: float, seed: str) -> list[tuple[str, str]]:
    """Returns a random choice of tasks (experiment, recording). `share` is the fraction of the
    recordings of each experiment that is chosen. At least one recording of each experiment is
    chosen. `seed` determines the choice."""
    kept = {name: sampled(one.subjects(), share, seed) for name, one in EXPERIMENTS.items()}
    return [(name, subject) for name, subject in tasks() if subject in kept[name]]


def varied(share: float, seed: str) -> list[tuple[str, str]]:
    """Returns tasks (constant, experiment). `share` is the fraction of all such tasks that is
    returned. `seed` selects the tasks."""
    names = {f"{constant} {experiment}" for constant, experiment in variation.tasks()}
    kept = names if share >= 1 else sampled(names, share, seed)
    return [task for task in variation.tasks() if " ".join(task) in kept]


def vary_again(wanted: Sequence[tuple[str, str]], workers: int) -> int:
    """Computes the effects of varied constants again for the tasks `wanted`. A task is (constant,
    experiment). Writes the effects to the committed table of variations, and removes the rows of
    constants that no longer exist. Writes the page and returns the exit code."""
    found = variation.compute(wanted, workers)
    again = set(wanted)
    kept = [one for one in variation.committed() if (one.constant, one.experiment) not in again]
    variation.save(
        [
            one
            for task in variation.tasks()
            for one in (*kept, *found)
            if (one.constant, one.experiment) == task
        ]
    )
    PAGE.write_text(page(committed(), variation.committed()), encoding="utf-8")
    print("\n".join(f"varied again: {constant} / {experiment}" for constant, experiment in wanted))
    print(f"{len(wanted)} constants varied again, {len(found)} rows")
    return 0


def compute(wanted: Sequence[tuple[str, str]], workers: int) -> tuple[list[Figure], list[str]]:
    """Computes the figures of all tasks in `workers` processes. Prints each figure as soon as it is
    known. Returns (figures in the order of the tasks, tasks that failed)."""
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
    """Returns a figure as one line of text with its verdict."""
    bar = bars()[one.bar]
    value = "-" if one.value is None else shown(one.value, bar.unit)
    return (
        f"{one.verdict:4}  {one.bar:22} {value:>9} {one.points:5}  "
        f"{one.recording}{': ' if one.part else ''}{one.part}"
    )


def grids(share: float, seed: str, workers: int) -> int:
    """Runs the test cases with the mark `grid` by pytest and returns pytest's exit code. `share` is
    the fraction of the cases of each grid that is run."""
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
