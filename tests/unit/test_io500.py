"""Tests of the score of IO500. For planted results, the score is compared with a score that was
calculated by hand. For real runs, the tests only check that a score is computed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from dfslab.instruments import access
from dfslab.instruments.measure import Measure
from dfslab.report.page_table import blocks
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from dfslab.studies import io500
from dfslab.studies.contract import Findings, FinishedRun
from support import synthetic

SMALL: dict[str, dict[str, Any]] = {
    "ior_easy": {"file_size": "256 KiB", "transfer_size": "64 KiB"},
    "ior_hard": {"file_size": "470080 B"},
    "mdtest_easy": {"items": 20},
    "mdtest_hard": {"items": 20},
    "find": {"items": 30, "branches": 3},
}


def section(results):
    """Returns the text of the page's section on IO500, or None if the run has none of IO500's
    workloads."""
    found = io500.Scores(scores=io500.scores(results))
    run = FinishedRun(synthetic.scenario(), results, Findings.of(found))
    return blocks(found.section(run))


def points(**more):
    """Yields one configuration for each of IO500's workloads, with few operations. `more` has
    further keys of the workloads."""
    for name, keys in SMALL.items():
        yield from build(
            Scenario,
            {
                "name": "io500",
                "deployment": {"node": [{"name": "here", "roles": {"client": 1, "storage": 1}}]},
                "file_system": {"name": "local"},
                "workload": {"name": name, "clients": 2, **keys, **more},
                "run": {"repetitions": 1},
            },
        ).points()


@pytest.fixture(scope="module")
def measured():
    """Returns one measured result for each of the IO500 workloads."""
    with access.session() as session:
        return [Measure().run(point, session) for point in points()]


def test_all_twelve_parts_are_measured_and_scored(measured):
    (score,) = io500.scores(measured)
    assert not score.missing
    assert list(score.parts) == list(io500.PARTS)
    four = [score.parts[name] for name in io500.BANDWIDTHS]
    eight = [score.parts[name] for name in (*io500.RATES, io500.FIND)]
    assert score.bandwidth_gib_per_s is not None
    assert score.rate_kiops is not None
    assert score.bandwidth_gib_per_s == pytest.approx(math.prod(four) ** (1 / 4))
    assert score.rate_kiops == pytest.approx(math.prod(eight) ** (1 / 8))
    assert score.score == pytest.approx(math.sqrt(score.bandwidth_gib_per_s * score.rate_kiops))
    find = next(one for one in measured if one.point.scenario.workload.name == "find")
    counts = {phase.name: phase.count for phase in find.load.phases}
    assert counts == {"list": 2 * 4, "stat": 2 * 30}
    took_s = sum(phase.window_s for phase in find.load.phases)
    assert score.parts["find"] == pytest.approx(60 / took_s / 1000)


def test_a_part_that_is_missing_leaves_no_score(measured):
    (score,) = io500.scores(measured[:-1])
    assert score.missing == ["find"]
    assert score.score is None
    assert score.rate_kiops is None
    assert score.bandwidth_gib_per_s is not None
    assert section(measured[:-1]) is None


def test_repetitions_count_by_their_geometric_mean(measured):
    faster = []
    for result in measured:
        phases = [
            phase.model_copy(
                update={
                    "rate_per_s": 4 * phase.rate_per_s,
                    "window_s": phase.window_s / 4,
                    "throughput_bytes_per_s": 4 * phase.throughput_bytes_per_s,
                }
            )
            for phase in result.load.phases
        ]
        load = result.load.model_copy(update={"phases": phases})
        faster.append(result.model_copy(update={"load": load}))
    (once,), (both,) = io500.scores(measured), io500.scores([*measured, *faster])
    assert once.score is not None
    assert both.score == pytest.approx(2 * once.score)


def test_the_page_says_that_short_phases_are_no_entry(measured):
    body = section(measured)
    assert body is not None
    assert "no valid entry of the IO500 list" in body
    assert all(part in body for part in io500.PARTS)
