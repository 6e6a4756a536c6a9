"""Tests of the section on workload runs in a run's page. The section shows phases, response times,
the time that the load generator itself used, and rates over time."""

from __future__ import annotations

import re

import pytest
from dfslab.documents.load_report import ErrorCount, Second, Steady
from dfslab.documents.measured_load import (
    CallCounts,
    CountedCalls,
    DiskReads,
    MeasuredLoad,
    MeasuredPhase,
    RateInterval,
)
from dfslab.documents.table import number_text, seconds_text
from dfslab.instruments import measure
from dfslab.report.sections import latency, load
from dfslab.result import Result
from dfslab.spec.check import check
from dfslab.studies.contract import FinishedRun
from support import synthetic
from support.measuring import measure_once


def measured(**workload) -> Result:
    changes = {f"workload.{key}": value for key, value in workload.items()}
    given = synthetic.scenario(hold_out=()).with_values({**changes, "run.methods": ["measure"]})
    return measure_once(check(given)[0])


def rows(body: str) -> list[list[str]]:
    found = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in body.split("<tr")[1:]]
    return [row for row in found if row]


def study(*results: Result) -> FinishedRun:
    return FinishedRun(synthetic.scenario(), list(results))


@pytest.fixture(scope="module")
def phased() -> Result:
    return measured(name="mdtest_easy", items=50, clients=2)


def test_each_phase_has_its_own_rate(phased):
    body = load.render(study(phased))
    assert body is not None
    found = {row[1]: row for row in rows(body) if len(row) == 8}
    for phase in phased.load.phases:
        reported = found[phase.name]
        assert reported[3] == "100"
        assert reported[5] == f"{number_text(phase.rate_per_s)}/s"


def test_the_generators_own_time_is_reported(phased):
    body = load.render(study(phased))
    assert body is not None
    head, reported, *_ = rows(body)
    shown = dict(zip(head, reported, strict=True))
    generator = phased.load.generator
    times_ns = (generator.own_ns_per_op, generator.call_floor_ns)
    own, floor = (seconds_text(time_ns * 1e-9) for time_ns in times_ns)
    assert shown["own time"] == f"{own} ({floor})"
    assert shown["page cache"] == "warm"
    # The columns for failures, system calls and late starts are omitted, because this run has none
    # of these figures.
    assert not {"failed", "system calls", "late"} & set(head)


def test_response_times_of_open_workloads_are_shown_with_latencies():
    result = measured(
        name="metadata", operation="stat", operations_per_client=60, arrival="even", rate="2000 /s"
    )
    body = latency.render(study(result))
    assert body is not None
    found = {row[1]: row for row in rows(body)}
    assert found["stat, from the scheduled start"][3] == seconds_text(
        result.value("response_s_mean.stat")
    )
    assert found["stat"][3] == seconds_text(result.value("latency_s_mean.stat"))
    assert "late" in rows(load.render(study(result)) or "")[0]


def test_a_run_of_many_seconds_shows_its_course(phased):
    assert "each second" not in (load.render(study(phased)) or "")
    course = [
        Second(count=number, errors=0, bytes=0, latency_ns_sum=0, latency_ns_max=0)
        for number in (5, 7, 0, 9, 8, 6, 1)
    ]
    longer = phased.model_copy(update={"load": phased.load.model_copy(update={"seconds": course})})
    body = load.render(study(longer))
    assert body is not None
    # The seventh second is incomplete, so the curve has only six points, which are joined by five
    # segments.
    (line,) = re.findall('<path class="line" d="(M[^"]*)"', body)
    assert line.count("L") == 5


def planted(like: Result, **changes) -> Result:
    """Returns a copy of the result `like` with other load figures. `changes` has the figures that
    are replaced. The copy has phases only if `changes` has them."""
    assert like.load is not None
    load = like.load.model_copy(update={"phases": [], **changes})
    return like.model_copy(update={"load": load})


def first_row(*results: Result) -> dict[str, str]:
    head, reported, *_ = rows(load.render(study(*results)) or "")
    return dict(zip(head, reported, strict=True))


def test_an_own_time_that_is_not_known_is_not_shown_as_nothing(phased):
    """If the time that the load generator itself used was not measured, the table has no column for
    it. The report then has 0 for this time."""
    nothing = {"own_ns_per_op": 0.0, "share_of_latency": 0.0}
    none = phased.load.generator.model_copy(update=nothing)
    unknown = planted(phased, generator=none)
    assert not {"own time", "of the mean latency"} & set(first_row(unknown))
    other = phased.model_copy(update={"point_id": "another"})
    table = rows(load.render(study(unknown, other)) or "")
    place = table[0].index("own time")
    assert sorted(row[place] == load.DASH for row in table[1:3]) == [False, True]


SETTLED = Steady(
    reached=True, from_s=5.0, seconds=30, rate_per_s=812.4, rate_per_s_half_width=14.04
)
RESTLESS = SETTLED.model_copy(update={"reached": False})
INTERVAL = RateInterval(mean_per_s=812.4, low_per_s=798.2, high_per_s=826.0, block_s=4.0)
UNSETTLED = "did not settle in its first half"


def test_a_run_that_settled_reports_since_when(phased):
    shown = first_row(planted(phased, steady=SETTLED, rate_interval=INTERVAL))
    assert shown["steady"] == "from 5 s on: 812/s ± 14"
    assert shown["the rate&#39;s own interval"] == "798 to 826/s"


def test_a_run_that_never_settled_says_so_and_a_short_one_nothing(phased):
    assert first_row(planted(phased, steady=RESTLESS))["steady"] == UNSETTLED
    short = load.render(study(planted(phased, steady=None, rate_interval=None))) or ""
    assert not {"steady", "the rate&#39;s own interval"} & set(rows(short)[0])
    assert "MSER-5" not in short


def test_of_repetitions_those_that_did_not_settle_are_counted(phased):
    again = [planted(phased, steady=one) for one in (SETTLED, RESTLESS, SETTLED, None)]
    assert first_row(*again)["steady"] == "from 5 s on: 812/s ± 14; 1 of 3 did not settle"


def test_phases_are_judged_one_by_one(phased):
    """Each phase gets a separate verdict on whether it was steady, because the phases run different
    operations."""
    judged = zip(phased.load.phases, (SETTLED, RESTLESS), strict=False)
    reported = [
        phase.model_copy(update={"steady": one, "rate_interval": None}) for phase, one in judged
    ]
    body = load.render(study(planted(phased, steady=RESTLESS, phases=reported))) or ""
    assert "steady" not in rows(body)[0]
    found = [row[8] for row in rows(body) if len(row) == 9]
    assert found == ["steady", "from 5 s on: 812/s ± 14", UNSETTLED]


def test_each_phase_reports_its_calls_and_the_bytes_read_from_disks(phased):
    first, *others = phased.load.phases
    disks = DiskReads(requested_bytes=4096, read_bytes=2048)
    cache = first.cache.model_copy(update={"disks": disks})
    reported = [first.model_copy(update={"cache": cache}), *others]
    counted = CountedCalls(
        operations=40,
        system_calls={},
        system_calls_per_operation=6.0,
        server_calls={},
        server_calls_per_operation=4.0,
    )
    given = planted(phased, phases=reported, calls=CallCounts(phases=[counted]))
    (row,) = [row for row in rows(load.render(study(given)) or "") if first.name in row]
    assert row[-3:] == ["2 KiB of 4 KiB", "6", "4"]


def phases(**judged: Steady | None) -> list[MeasuredPhase]:
    """Returns phases that have only a name and a verdict on whether their rate was steady."""
    return [MeasuredPhase.model_construct(name=name, steady=one) for name, one in judged.items()]


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({"steady": SETTLED}, []),
        ({"steady": None}, []),
        ({"steady": RESTLESS}, [f"the run {UNSETTLED}: the run has no steady rate"]),
        ({"steady": RESTLESS, "phases": phases(a=SETTLED)}, []),
        (
            {"steady": None, "phases": phases(a=RESTLESS, b=None, c=RESTLESS)},
            ["phases that did not settle in their first half: a, c"],
        ),
    ],
)
def test_a_run_that_never_settled_has_one_note(changes, notes):
    judged = MeasuredLoad(wall_s=1.0).model_copy(update=changes)
    assert measure.notes_of(judged, True, synthetic.scenario()) == notes


def test_a_note_of_what_failed_says_what_may_help():
    """The note on failed operations has advice only if the file system's description has advice for
    the error. The description of HDFS has none for this error."""
    error = ErrorCount(
        operation="read/read",
        kind="other",
        count=2,
        first='read "c0/f1": Input/output error (os error 5)',
    )
    failed = MeasuredLoad(wall_s=1.0, errors=[error])
    notes = {}
    for name in ("alluxio", "hdfs"):
        given = synthetic.scenario()
        choice = given.file_system.model_copy(update={"name": name})
        given = given.model_copy(update={"file_system": choice})
        (notes[name],) = measure.notes_of(failed, False, given)
    assert notes["hdfs"].endswith("(os error 5)")
    assert "driven out what has no other copy" in notes["alluxio"]


def test_a_note_of_hung_calls_on_alluxio_names_the_library_that_can_block():
    """The load generator reports the error of this test if it gives up a run because calls do not
    return."""
    error = ErrorCount(
        operation="no_answer/wait",
        kind="timeout",
        count=4,
        first='wait "dfslab-1": the load generator has been removing the directory for 180 s',
    )
    given = synthetic.scenario()
    choice = given.file_system.model_copy(update={"name": "alluxio"})
    given = given.model_copy(update={"file_system": choice})
    (note,) = measure.notes_of(MeasuredLoad(wall_s=1.0, errors=[error]), False, given)
    assert "libfuse before 3.13 can block" in note
