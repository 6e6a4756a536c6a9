"""Tests that nets of processor sharing and of fork-join queues agree with theory within three
standard errors."""

from __future__ import annotations

from statistics import fmean

import pytest
from dfslab.documents.net_run import SojournMonitor
from dfslab.nets.build import Net, Put, Take
from dfslab.nets.engine import estimate, run

REPLICATIONS = 12
THREE_ERRORS = 0.9973


def agrees(values: list[float], wanted: float) -> None:
    """Asserts that the mean of independent replications is within three standard errors of
    `wanted`, and that three standard errors are below 10 % of the mean."""
    found = estimate(values, THREE_ERRORS)
    assert abs(found.mean - wanted) <= found.half_width, (found, wanted)
    assert found.relative < 0.1, "too wide to tell anything"


def round_robin(service: str, slice_s: float) -> Net:
    """Returns a net of one server that serves all customers in turns of `slice_s` seconds. Short
    turns approach processor sharing."""
    net = Net("ps")
    job = net.colour("job", id=int, left=float)
    net.constant("slice", slice_s)
    counter = net.place("counter", net.colour("count", id=int), [0])
    turn, idle = net.place("turn", job), net.place("idle", initial=[()])
    served = net.place("served", job)
    net.transition(
        "arrive",
        [Take(counter, "c")],
        [Put(counter, ["c.id + 1"], "exponential(1 / 0.6)"), Put(turn, ["c.id", service])],
    )
    spent = "min(j.left, slice)"
    net.transition(
        "serve",
        [Take(turn, "j"), idle],
        [Put(idle, delay=spent), Put(served, ["j.id", f"j.left - {spent}"], spent)],
    )
    net.transition("again", [Take(served, "j")], [Put(turn, "j")], guard="j.left > 1e-12")
    net.transition("leave", [Take(served, "j")], guard="j.left <= 1e-12")
    return net


@pytest.mark.grid
@pytest.mark.parametrize(
    "service",
    ["exponential(1)", "1.0", "if(discrete(0.1) == 1, 5.5, 0.5)"],
    ids=["exponential", "fixed", "two-valued"],
)
def test_processor_sharing_depends_on_the_mean_alone(service):
    """For M/G/1 with processor sharing, the mean response time is E[S] / (1 - rho) for every
    distribution of the service time S. With E[S] = 1 s and utilisation rho = 0.6, it is 2.5 s.

    A turn takes 0.02 s. A job therefore waits at most one turn longer than in theory, and this
    difference is far below the standard error.
    """
    stays = SojournMonitor(from_="arrive", to="leave", key="c.id", to_key="j.id")
    reports = run(
        round_robin(service, 0.02),
        replications=REPLICATIONS,
        end_time_s=8000.0,
        warm_up_s=200.0,
        threads=2,
        seed=3,
        monitors={"stays": stays},
    )
    agrees([one.sojourns["stays"].mean_s for one in reports], 2.5)


def fork_join(branches: int, load: float) -> Net:
    """Returns a net in which each customer is split into parts, one for each of `branches` servers,
    and leaves when every part has been served."""
    net = Net("fork-join")
    part = net.colour("part", id=int)
    counter = net.place("counter", part, [0])
    done = [net.place(f"done{at}", part) for at in range(branches)]
    queues = [net.place(f"queue{at}", part) for at in range(branches)]
    net.transition(
        "fork",
        [Take(counter, "c")],
        [Put(counter, ["c.id + 1"], f"exponential({1 / load})"), *(Put(q, "c") for q in queues)],
    )
    for at, (queue, end) in enumerate(zip(queues, done, strict=True)):
        idle, busy = net.place(f"idle{at}", initial=[()]), net.place(f"busy{at}", part)
        net.transition(f"start{at}", [Take(queue, "p"), idle], [Put(busy, "p", "exponential(1)")])
        net.transition(f"end{at}", [Take(busy, "p")], [Put(end, "p"), idle])
    takes = [Take(place, f"p{at}") for at, place in enumerate(done)]
    equal = " && ".join(f"p0.id == p{at}.id" for at in range(1, branches))
    net.transition("join", takes, guard=equal)
    return net


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_two_branches_are_exact(load):
    """With two branches, the mean response time is (12 - rho) / 8 times that of M/M/1 at
    utilisation rho (Flatto and Hahn 1984)."""
    stays = SojournMonitor(from_="fork", to="join", key="c.id", to_key="p0.id")
    reports = run(
        fork_join(2, load),
        replications=REPLICATIONS,
        end_time_s=20_000.0,
        warm_up_s=500.0,
        threads=2,
        seed=5,
        monitors={"stays": stays},
    )
    agrees([one.sojourns["stays"].mean_s for one in reports], (12 - load) / 8 / (1 - load))


def test_more_branches_follow_the_approximation():
    """With six branches, the mean response time follows the approximation of Nelson and Tantawi
    1988, whose error is below 5 %."""
    load, n = 0.5, 6
    harmonic = sum(1 / k for k in range(1, n + 1))
    factor = harmonic / 1.5 + 4 / 11 * (1 - harmonic / 1.5) * load
    wanted = factor * (12 - load) / 8 / (1 - load)
    stays = SojournMonitor(from_="fork", to="join", key="c.id", to_key="p0.id")
    reports = run(
        fork_join(n, load),
        replications=REPLICATIONS,
        end_time_s=5000.0,
        warm_up_s=200.0,
        threads=2,
        seed=6,
        monitors={"stays": stays},
    )
    found = fmean(one.sojourns["stays"].mean_s for one in reports)
    assert found == pytest.approx(wanted, rel=0.05)
