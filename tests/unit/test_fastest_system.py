"""Tests of the sentence that names the fastest of several file systems. The rates are planted."""

from __future__ import annotations

import re

import numpy as np
from dfslab.report import page
from dfslab.report.answers.file_systems import fastest
from dfslab.report.answers.verdict import verdict
from dfslab.result import Result
from dfslab.spec.check import checked
from dfslab.spec.files import ready
from dfslab.spec.scenario import read
from dfslab.spec.systems.choice import NAME_KEY
from dfslab.studies.contract import Findings, FinishedRun
from dfslab.studies.systems import compared
from support import synthetic

SCENARIO = read(ready.files()["dfs-perf-figures"])
# Planted rates in operations per second. RATES has the rates if the clients are threads: HDFS is
# four times as fast as Alluxio (400 and 100). WITH_PROCESSES has the rate of Alluxio if the clients
# are processes. Alluxio is then twice as fast as HDFS (800 and 400).
RATES = {"hdfs": 400.0, "alluxio": 100.0}
WITH_PROCESSES = 800.0


def run_of(systems: set[str], repetitions: int = 1) -> FinishedRun:
    """Returns a run with planted rates of these file systems."""
    results: list[Result] = [
        synthetic.measured(point, rate_of(point.labels), repetition)
        for point in checked(SCENARIO).points
        if point.labels[NAME_KEY] in systems
        for repetition in range(repetitions)
    ]
    return FinishedRun(SCENARIO, results, Findings.of(compared(results)))


def noisy_run(factor: float) -> FinishedRun:
    """Returns a run in which HDFS is `factor` times as fast as Alluxio. The repetitions of a
    configuration differ by a factor of about two."""
    random = np.random.default_rng(7)
    results = [
        synthetic.measured(
            point,
            100.0
            * (factor if point.labels[NAME_KEY] == "hdfs" else 1.0)
            * float(np.exp(0.5 * random.normal())),
            repetition,
        )
        for point in checked(SCENARIO).points
        if point.labels[NAME_KEY] in RATES
        for repetition in range(4)
    ]
    return FinishedRun(SCENARIO, results, Findings.of(compared(results)))


def test_noise_withholds_no_difference_that_is_larger():
    clear = verdict(noisy_run(1000.0))
    assert clear is not None
    assert clear.is_withheld
    assert clear.doubt.startswith("Partly inconclusive: ")
    share = len(checked(SCENARIO).points) // len(SCENARIO.systems)
    assert clear.compared.startswith(
        "Beyond the noise (90 % intervals apart), hdfs is faster than "
    )
    assert f"alluxio in {share} of {share} workloads" in clear.compared
    assert clear.compared in str(page.render(noisy_run(1000.0)))


def test_noise_withholds_a_difference_that_is_smaller():
    unclear = verdict(noisy_run(1.0))
    assert unclear is not None
    found = re.search(r"in (\d+) of (\d+) workloads", unclear.compared)
    assert found is None or int(found[1]) <= int(found[2]) / 2


def rate_of(labels) -> float:
    if labels[NAME_KEY] == "alluxio" and labels["workload.processes"]:
        return WITH_PROCESSES
    return RATES[str(labels[NAME_KEY])]


def test_the_sentence_has_wins_and_factors():
    run = run_of({"hdfs", "alluxio"})
    processes = [bool(point.labels["workload.processes"]) for point in checked(SCENARIO).points]
    share = len(processes) // len(SCENARIO.systems)
    with_processes = sum(processes) // len(SCENARIO.systems)
    winner, most = (
        ("alluxio", with_processes)
        if with_processes > share - with_processes
        else ("hdfs", share - with_processes)
    )
    said = fastest(run)
    assert said.startswith(f"By the measured rate, {winner} is fastest in {most} of {share} workl")
    assert ("(0.25 to 2)" if winner == "alluxio" else "(0.5 to 4)") in said
    assert said.endswith("Each configuration ran once, so small differences may be noise.")


def test_repeated_runs_have_no_warning():
    assert "ran once" not in fastest(run_of({"hdfs", "alluxio"}, repetitions=2))


def test_one_file_system_is_not_compared():
    run = run_of({"hdfs"})
    assert fastest(run) == ""
    answer = verdict(run)
    assert answer is not None
    assert answer.sentences[0].startswith("Measured: ")


def test_terminal_and_page_begin_with_the_comparison():
    run = run_of({"hdfs", "alluxio"})
    answer = verdict(run)
    assert answer is not None
    assert answer.sentences[0] == fastest(run)
    text = page.render(run)
    assert text.index("<dt>Fastest</dt>") < text.index("<dt>Measured</dt>")
