"""Tests that Petri nets from the literature, read from files of CPN Tools, have their published
properties."""

from __future__ import annotations

from statistics import fmean

import pytest
from dfslab.documents.net_run import LogMonitor
from dfslab.nets import engine
from support.nets import read_cpn

from tests.support.cpn_constructs import Step, color, file_of, ml, var


def database(managers: int) -> str:
    """Returns the CPN Tools file of Jensen's distributed database: a manager updates its copy,
    sends messages to all other managers, and waits for all answers."""
    return file_of(
        [
            ml(f"val n = {managers};"),
            color("DBM", "<index><ml>1</ml><ml>n</ml><id>d</id></index>"),
            color("PR", "<product><id>DBM</id><id>DBM</id></product>"),
            ml("fun diff(x,y) = (x<>y);"),
            color("MES", "<subset><id>PR</id><by><ml>diff</ml></by></subset>"),
            color("E", "<enum><id>e</id></enum>"),
            ml("fun Mes(s) = PR.mult(1`s, DBM.all() --1`s);"),
            "<var id='v'><type><id>DBM</id></type><id>s</id><id>r</id></var>",
        ],
        {
            "Inactive": ("DBM", "DBM.all()"),
            "Waiting": ("DBM", ""),
            "Performing": ("DBM", ""),
            "Unused": ("MES", "MES.all()"),
            "Sent": ("MES", ""),
            "Received": ("MES", ""),
            "Acknowledged": ("MES", ""),
            "Passive": ("E", "e"),
            "Active": ("E", ""),
        },
        [
            Step(
                "Update and send",
                {"Inactive": "s", "Passive": "e", "Unused": "Mes(s)"},
                {"Waiting": "s", "Active": "e", "Sent": "Mes(s)"},
            ),
            Step(
                "Receive all",
                {"Waiting": "s", "Active": "e", "Acknowledged": "Mes(s)"},
                {"Inactive": "s", "Passive": "e", "Unused": "Mes(s)"},
            ),
            Step(
                "Receive",
                {"Inactive": "r", "Sent": "(s,r)"},
                {"Performing": "r", "Received": "(s,r)"},
            ),
            Step(
                "Acknowledge",
                {"Performing": "r", "Received": "(s,r)"},
                {"Inactive": "r", "Acknowledged": "(s,r)"},
            ),
        ],
    )


@pytest.mark.parametrize("managers", [2, 3, 4])
def test_the_distributed_database(managers: int):
    """The state space of Jensen's database for n managers has the published size (Jensen 1996): 1 +
    n 3^(n-1) markings and 2n (1 + (n-1) 3^(n-2)) arcs. Every marking is a home marking, none is
    dead, and all four transitions are live."""
    report = engine.state_space(read_cpn(database(managers)))
    n = managers
    assert report.markings == 1 + n * 3 ** (n - 1)
    assert report.arcs == 2 * n * (1 + (n - 1) * 3 ** (n - 2))
    assert report.dead_markings == 0
    assert report.home_markings == report.markings
    assert len(report.live_transitions) == 4


def philosophers(count: int) -> str:
    """Returns the CPN Tools file of Jensen's dining philosophers, who take both chopsticks at
    once."""
    return file_of(
        [
            ml(f"val n = {count};"),
            color("PH", "<index><ml>1</ml><ml>n</ml><id>ph</id></index>"),
            color("CS", "<index><ml>1</ml><ml>n</ml><id>cs</id></index>"),
            var("p", "PH"),
            ml("fun Chopsticks(ph(i)) = 1`cs(i) ++ 1`cs(if i=n then 1 else i+1);"),
        ],
        {"Think": ("PH", "PH.all()"), "Eat": ("PH", ""), "Unused": ("CS", "CS.all()")},
        [
            Step("Take", {"Think": "p", "Unused": "Chopsticks(p)"}, {"Eat": "p"}),
            Step("Put down", {"Eat": "p"}, {"Think": "p", "Unused": "Chopsticks(p)"}),
        ],
    )


@pytest.mark.parametrize(("count", "markings", "arcs"), [(5, 11, 30), (6, 18, 60), (7, 29, 112)])
def test_the_philosophers_with_both_chopsticks(count: int, markings: int, arcs: int):
    """The numbers of markings and arcs of the state space are known in closed form.

    A marking is a set of eating philosophers of whom no two are neighbours, so the number of
    markings is a Lucas number. In each marking every eater may stop, and every philosopher without
    an eating neighbour may begin. Therefore the number of arcs is twice the sum of the eaters over
    all markings.
    """
    report = engine.state_space(read_cpn(philosophers(count)))
    assert (report.markings, report.arcs) == (markings, arcs)
    assert report.dead_markings == 0


def queue() -> str:
    """Returns the CPN Tools file of the queue system from the examples of CPN Tools: tokens carry
    arrival times, and jobs wait in a list."""
    job = (
        "<record><recordfield><id>jobType</id><id>JobType</id></recordfield>"
        "<recordfield><id>AT</id><id>INT</id></recordfield></record>"
    )
    return file_of(
        [
            color("UNIT", "<unit/>"),
            color("INT", "<int/>"),
            color("Server", "<enum><id>server</id></enum>"),
            color("JobType", "<enum><id>A</id><id>B</id></enum>"),
            color("Job", job),
            color("Jobs", "<list><id>Job</id></list>"),
            color("ServerxJob", "<product><id>Server</id><id>Job</id></product>"),
            var("proctime", "INT"),
            var("w", "INT"),
            var("job", "Job"),
            var("jobs", "Jobs"),
            ml(
                "fun expTime (mean: int) = let val realMean = Real.fromInt mean "
                "val rv = exponential((1.0/realMean)) in floor (rv+0.5) end;"
            ),
            ml("fun intTime() = IntInf.toInt (time());"),
            ml("fun newJob() = {jobType = JobType.ran(), AT = intTime()}"),
            "<globref id='g'><id>fileid</id><ml>(NONE : TextIO.outstream option)</ml></globref>",
            ml("fun getfid () = Option.valOf(!fileid)"),
        ],
        {
            "Next": ("UNIT", "1`()"),
            "Queue": ("Jobs", "1`[]"),
            "Idle": ("Server", "server"),
            "Busy": ("ServerxJob", ""),
            "Completed": ("Job", ""),
            "Waited": ("INT", ""),
        },
        [
            Step(
                "Arrive",
                {"Next": "()", "Queue": "jobs"},
                {"Next": "()@+expTime(100)", "Queue": "jobs^^[newJob()]"},
            ),
            Step(
                "Start",
                {"Idle": "server", "Queue": "job::jobs"},
                {
                    "Busy": "(server,job)@+proctime",
                    "Queue": "jobs",
                    "Waited": "intTime() - #AT job",
                },
                code="input (); output (proctime); action expTime(50);",
            ),
            Step("Note", {"Waited": "w"}, {}),
            Step("Stop", {"Busy": "(server,job)"}, {"Idle": "server", "Completed": "job"}),
        ],
    )


def test_the_queue_system_waits_as_long_as_a_queue_of_its_kind_does():
    """The queue system is an M/M/1 queue with utilisation 0.5, so the mean wait of a job equals the
    mean service time of 50 s."""
    log = LogMonitor(transition="Note", fields=["w.value"], limit=1_000_000)
    reports = engine.run(
        read_cpn(queue()), end_time_s=1_000_000.0, replications=8, seed=3, monitors={"waits": log}
    )
    waits = [[values[0] for _, values in report.logs["waits"].rows] for report in reports]
    assert all(9_000 < len(one) < 11_000 for one in waits)
    found = engine.estimate([fmean(one) for one in waits])
    assert found.half_width < 4
    # Twice the half-width of the interval is about four standard errors. Times are rounded to
    # integers, which moves the mean by less than twice the half-width.
    assert abs(found.mean - 50) < 2 * found.half_width
