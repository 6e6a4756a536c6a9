"""Tests of the benchmark score of a processor. The score is read from the output of the probe.
Output that is not a number is refused."""

from __future__ import annotations

import statistics
import subprocess

import pytest
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.control_groups import PERIOD_US
from dfslab.testbeds.hosts.score import KERNEL_S, PERIODS, score


class Here:
    """A host whose commands run on this machine. If `says` is not empty, no command is run. The
    output of every command is then `says`."""

    name = "here"

    def __init__(self, says: str = "") -> None:
        self.says = says

    def run(self, *words: str, limit_s: float) -> str:
        if self.says:
            return self.says
        return subprocess.run(
            words, capture_output=True, text=True, timeout=limit_s, check=True
        ).stdout


def test_the_program_gives_a_positive_score():
    assert score(Here(), kernel_s=0.01) > 0  # type: ignore[arg-type]


def test_what_is_no_number_is_refused():
    with pytest.raises(TestbedError, match="score of here"):
        score(Here("no python"))  # type: ignore[arg-type]


STEPS = 100
"""Steps of time in one period of a simulated processor limit."""


def runs(quota: int, begin: int, periods: int, count: int) -> list[float]:
    """Simulates a kernel on a processor that is limited to `quota` steps in each period of STEPS
    steps. The host has been idle before step `begin`, where the first of `count` consecutive runs
    starts. A run ends at the first step that the kernel executes after `periods` periods.

    Returns for each run its rate relative to the limit (1 means exactly the limit).
    """
    now, used, found = begin, 0, []
    for _ in range(count):
        start, executed = now, 0
        while now - start < periods * STEPS or used >= quota:
            if used < quota:
                used, executed = used + 1, executed + 1
            now += 1
            used = 0 if now % STEPS == 0 else used
        found.append(executed / (now - start) / (quota / STEPS))
    return found


@pytest.mark.parametrize("periods", [4, PERIODS])
def test_one_run_exceeds_the_limit_by_at_most_one_quota(periods):
    """The rate of a single run may exceed the limit. Over all quotas and start times, the largest
    relative excess is between 0.9 / `periods` and 1 / `periods`."""
    first = [
        runs(quota, begin, periods, 1)[0]
        for quota in range(5, STEPS, 5)
        for begin in range(0, STEPS, 5)
    ]
    assert 0.9 / periods < max(first) - 1 <= 1 / periods


def test_later_runs_of_a_kernel_do_not_profit_from_an_unused_quota():
    """Only the first run of a kernel may use a quota that was left before the run. The median rate
    of five runs therefore equals the limit within 2 %."""
    for quota in range(5, STEPS, 15):
        for begin in range(0, STEPS, 15):
            assert statistics.median(runs(quota, begin, PERIODS, 5)) == pytest.approx(1, abs=0.02)


def test_a_run_lasts_whole_periods_of_the_limit():
    assert pytest.approx(KERNEL_S * 1e6) == PERIODS * PERIOD_US
