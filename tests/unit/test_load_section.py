"""The page tells how loads went: phases, response times, the generator's part, the course."""

from __future__ import annotations

import re

import pytest
import synthetic
from dfslab.instruments.measure import Measure
from dfslab.report.page import ReportInput
from dfslab.report.sections import latency, load
from dfslab.report.table import number
from dfslab.result import Result
from dfslab.spec.check import check


def measured(**workload) -> Result:
    changes = {f"workload.{key}": value for key, value in workload.items()}
    given = synthetic.scenario(hold_out=()).with_values({**changes, "run.methods": ["measure"]})
    return Measure().run(check(given)[0])


def rows(body: str) -> list[list[str]]:
    found = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in body.split("<tr")[1:]]
    return [row for row in found if row]


def study(*results: Result) -> ReportInput:
    return ReportInput(synthetic.scenario(), list(results))


@pytest.fixture(scope="module")
def phased() -> Result:
    return measured(name="mdtest_easy", items=50, clients=2)


def test_each_phase_has_its_own_rate(phased):
    body = load.render(study(phased))
    assert body is not None
    found = {row[1]: row for row in rows(body) if len(row) == 8}
    for phase in phased.detail["phases"]:
        told = found[phase["name"]]
        assert told[3] == "100"
        assert told[5] == f"{number(phase['rate_per_s'])}/s"


def test_the_generators_own_part_is_told(phased):
    body = load.render(study(phased))
    assert body is not None
    head, told, *_ = rows(body)
    shown = dict(zip(head, told, strict=True))
    own_ns = phased.detail["generator"]["own_ns_per_op"]
    assert shown["own time"] == load.seconds(own_ns * 1e-9)
    assert shown["page cache"] == "warm"
    # Nothing failed, no call was counted, no operation was due at a time.
    assert not {"failed", "system calls", "late"} & set(head)


def test_response_times_of_open_loads_stand_beside_latencies():
    result = measured(name="metadata", operation="stat", operations_per_client=60, arrival="even",
                      rate="2000 /s")  # fmt: skip
    body = latency.render(study(result))
    assert body is not None
    found = {row[1]: row for row in rows(body)}
    assert found["stat, since due"][3] == load.seconds(result.value("response_s_mean.stat"))
    assert found["stat"][3] == load.seconds(result.value("latency_s_mean.stat"))
    assert "late" in rows(load.render(study(result)) or "")[0]


def test_a_run_of_many_seconds_shows_its_course(phased):
    assert "each second" not in (load.render(study(phased)) or "")
    course = [{"count": number} for number in (5, 7, 0, 9, 8, 6, 1)]
    longer = phased.model_copy(update={"detail": {**phased.detail, "seconds": course}})
    body = load.render(study(longer))
    assert body is not None
    # The last second is no whole one.
    assert '"y": [5, 7, 0, 9, 8, 6]' in body
