"""Tests that the Petri net engine agrees with closed forms of queueing theory within three standard
errors.

Tolerances come from theory or from independent replications, never from the observed result.
"""

from __future__ import annotations

import json
import math

import pytest
from dfslab import _core as core

SEED = 20120530


def run(net: dict, **options) -> list[dict]:
    """Runs the net with a fixed seed. Returns the engine's report of each replication as JSON
    data."""
    answer = core.net_run(json.dumps(net), json.dumps({"seed": SEED, "threads": 2, **options}))
    return json.loads(answer)["replications"]


def station_net(arrival: str, service: str, servers: int = 1, capacity: int | None = None) -> dict:
    """Returns a net of one station with `servers` servers and the given distributions of arrival
    and service times. At most `capacity` customers are at the station, and further customers are
    rejected. If `capacity` is None, there is no limit."""
    enter = {
        "name": "enter",
        "priority": 1,
        "in": [{"place": "door", "var": "c"}],
        "out": [{"place": "queue", "token": "c"}, {"place": "present"}],
    }
    transitions = [
        {
            "name": "arrive",
            "in": [{"place": "source", "var": "c"}],
            "out": [
                {"place": "source", "token": ["c.id + 1"], "delay": arrival},
                {"place": "door", "token": "c"},
            ],
        },
        enter,
        {
            "name": "start",
            "in": [{"place": "queue", "var": "c"}, {"place": "idle"}],
            "out": [{"place": "busy", "token": "c", "delay": service}],
        },
        {
            "name": "leave",
            "in": [{"place": "busy", "var": "c"}, {"place": "present"}],
            "out": [{"place": "idle"}],
        },
    ]
    if capacity is not None:
        enter["inhibit"] = [{"place": "present", "at_least": capacity}]
        transitions.append({"name": "turn_away", "in": [{"place": "door", "var": "c"}], "out": []})
    return {
        "name": "station",
        "colours": {"unit": [], "customer": [["id", "int"]]},
        "places": [
            {"name": "source", "colour": "customer", "initial": [[0]]},
            {"name": "door", "colour": "customer"},
            {"name": "queue", "colour": "customer"},
            {"name": "idle", "colour": "unit", "initial": [[]] * servers},
            {"name": "busy", "colour": "customer"},
            {"name": "present", "colour": "unit"},
        ],
        "transitions": transitions,
    }


MONITORS = [
    {"kind": "marking", "place": "present"},
    {"kind": "sojourn", "from": "enter", "to": "leave", "key": "c.id"},
    {"kind": "sojourn", "from": "enter", "to": "start", "key": "c.id"},
    {"kind": "marking", "place": "idle"},
    {"kind": "count", "transition": "leave"},
]


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Returns the mean of independent replications and the standard error of this mean."""
    mean = math.fsum(values) / len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def near(found: float, wanted: float, error: float) -> None:
    """Asserts that `found` is within three standard errors of `wanted`, and that the standard error
    is below 5 % of `wanted`."""
    assert error < 0.05 * abs(wanted), f"standard error {error} of {wanted} says nothing"
    assert abs(found - wanted) <= 3 * error, f"{found}, theory {wanted}, standard error {error}"


def observed(net: dict, replications: int = 12, end_time_s: float = 2.5e4) -> list[dict]:
    """Runs a net and returns one dictionary for each replication, from the name of each quantity to
    its measured value. The first 1000 s are left out as a warm-up."""
    answers = run(
        net, replications=replications, end_time_s=end_time_s, warm_up_s=1e3, monitors=MONITORS
    )
    rows = []
    for answer in answers:
        present, stay, wait, idle, left = answer["monitors"]
        rows.append(
            {
                "L": present["mean"],
                "W": stay["mean_s"],
                "Wq": wait["mean_s"],
                "idle": idle["mean"],
                "rate": left["rate_per_s"],
                "window_s": left["window_s"],
            }
        )
    return rows


def littles_law_and_utilisation(rows: list[dict], servers: int, service_s: float) -> None:
    """Asserts Little's law L = X W (customers = rate x response time) and the utilisation law (busy
    servers = rate x service time). Both laws hold exactly except for the customers that are present
    when the measured window begins or ends."""
    for row in rows:
        customers = row["rate"] * row["window_s"]
        slack = 6 * math.sqrt(customers) * max(row["W"], 1) / row["window_s"]
        assert row["L"] == pytest.approx(row["rate"] * row["W"], abs=slack)
        spread = 6 * service_s * math.sqrt(customers) / row["window_s"]
        assert servers - row["idle"] == pytest.approx(row["rate"] * service_s, abs=spread)
        assert 0 <= servers - row["idle"] <= servers


def test_mm1_with_the_asymptotic_variance():
    load, end_time_s = 0.8, 3e5
    (answer,) = run(
        station_net(f"exponential({1 / load})", "exponential(1)"),
        end_time_s=end_time_s,
        warm_up_s=1e3,
        monitors=MONITORS,
    )
    # The time average of the number of customers has the asymptotic variance 2 rho (1 + rho) / (1 -
    # rho)^4 = 1800 in M/M/1 at utilisation rho = 0.8.
    error = math.sqrt(2 * load * (1 + load) / (1 - load) ** 4 / (end_time_s - 1e3))
    near(answer["monitors"][0]["mean"], 4.0, error)
    # By Little's law, mean response time = mean number of customers / arrival rate, so both
    # estimates have the same relative error.
    near(answer["monitors"][1]["mean_s"], 5.0, error / load)
    near(answer["monitors"][2]["mean_s"], 4.0, error / load)
    # The response time is exponential with mean 5, so its 0.9 quantile is 5 ln 10. The quantile has
    # the relative error of the mean.
    assert answer["monitors"][1]["p90_s"] == pytest.approx(5 * math.log(10), rel=0.06)


@pytest.mark.parametrize(
    ("name", "arrival", "service", "servers", "wanted"),
    [
        ("M/M/1", "exponential(1.25)", "exponential(1)", 1, {"L": 4.0, "W": 5.0, "Wq": 4.0}),
        ("M/M/4", "exponential(1 / 3.2)", "exponential(1)", 4, {"W": 1.745541, "Wq": 0.745541}),
        ("M/D/1", "exponential(1.25)", "1", 1, {"W": 3.0, "Wq": 2.0}),
    ],
)
def test_open_stations(name, arrival, service, servers, wanted):
    rows = observed(station_net(arrival, service, servers))
    littles_law_and_utilisation(rows, servers, 1.0)
    for key, value in wanted.items():
        near(*_swap(mean_and_error([row[key] for row in rows]), value))


def _swap(found: tuple[float, float], wanted: float) -> tuple[float, float, float]:
    return found[0], wanted, found[1]


def test_finite_room():
    monitors = [
        *MONITORS,
        {"kind": "count", "transition": "turn_away"},
        {"kind": "count", "transition": "arrive"},
    ]
    net = station_net("exponential(1.25)", "exponential(1)", capacity=10)
    answers = run(net, replications=12, end_time_s=2.5e4, warm_up_s=1e3, monitors=monitors)
    inside, blocked = [], []
    for answer in answers:
        inside.append(answer["monitors"][0]["mean"])
        blocked.append(answer["monitors"][5]["count"] / answer["monitors"][6]["count"])
        assert answer["monitors"][0]["most"] == 10
    near(*_swap(mean_and_error(inside), 2.966314))
    near(*_swap(mean_and_error(blocked), 0.023493))


def test_tandem_is_two_independent_stations():
    """In a tandem of two stations, the mean response times add up as if the stations were
    independent, because the output of M/M/1 is Poisson (Burke, Jackson)."""
    net = station_net("exponential(2)", "exponential(1)")
    net["places"] += [
        {"name": "queue2", "colour": "customer"},
        {"name": "idle2", "colour": "unit", "initial": [[]]},
        {"name": "busy2", "colour": "customer"},
    ]
    leave = net["transitions"][3]
    leave["out"].append({"place": "queue2", "token": "c"})
    net["transitions"] += [
        {
            "name": "start2",
            "in": [{"place": "queue2", "var": "c"}, {"place": "idle2"}],
            "out": [{"place": "busy2", "token": "c", "delay": "exponential(1.5)"}],
        },
        {"name": "leave2", "in": [{"place": "busy2", "var": "c"}], "out": [{"place": "idle2"}]},
    ]
    monitors = [
        {"kind": "sojourn", "from": "enter", "to": "leave2", "key": "c.id"},
        {"kind": "sojourn", "from": "leave", "to": "leave2", "key": "c.id"},
    ]
    answers = run(net, replications=12, end_time_s=4e4, warm_up_s=1e3, monitors=monitors)
    # Mean response times of M/M/1 = 1 / (service rate - arrival rate): 1 / (1 - 0.5) = 2 at the
    # first station, and 1 / (2/3 - 1/2) = 6 at the second.
    for index, wanted in enumerate([8.0, 6.0]):
        values = [answer["monitors"][index]["mean_s"] for answer in answers]
        near(*_swap(mean_and_error(values), wanted))


def test_machine_repair():
    """The net of machine repair has the rate and response time of mean value analysis: eight
    machines work for Z = 5 s on average, then break and pass two repair stations in series."""
    demands, think_s, machines = [0.635, 1.15], 5.0, 8
    rate, response = mean_value_analysis(demands, machines, think_s)
    assert (rate, response) == pytest.approx((0.789098, 5.138158), rel=1e-6)
    net = closed_net([1, 1], demands, machines, think_s)
    monitors = [
        {"kind": "count", "transition": "finish"},
        {"kind": "sojourn", "from": "think", "to": "finish", "key": "j.id"},
    ]
    answers = run(net, replications=12, end_time_s=1e4, warm_up_s=500, monitors=monitors)
    rates = [answer["monitors"][0]["rate_per_s"] for answer in answers]
    near(*_swap(mean_and_error(rates), rate))
    responses = [answer["monitors"][1]["mean_s"] for answer in answers]
    near(*_swap(mean_and_error(responses), response))
    for answer in answers:
        count, stay = answer["monitors"]
        # The response time law is R = N / X - Z for N machines, rate X and think time Z. The law
        # holds except for the ends of the window and the randomness of Z.
        law = machines / count["rate_per_s"] - think_s
        spread = 6 * think_s / math.sqrt(count["count"]) + machines * 20 / count["window_s"]
        assert stay["mean_s"] == pytest.approx(law, abs=spread)


def mean_value_analysis(demands, customers: int, think_s: float = 0.0) -> tuple[float, float]:
    """Returns (rate, response time) of a closed network of single servers by exact mean value
    analysis (Reiser and Lavenberg 1980). `demands` are the service demands in seconds."""
    queues = [0.0] * len(demands)
    rate = response = 0.0
    for n in range(1, customers + 1):
        stays = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        response = math.fsum(stays)
        rate = n / (think_s + response)
        queues = [rate * stay for stay in stays]
    return rate, response


def closed_net(copies, service_s, jobs: int, think_s: float) -> dict:
    """Returns a closed net of `jobs` jobs. Each job thinks for `think_s` on average and then visits
    one group of stations after the other. In each group it visits one randomly chosen station.
    `copies` has the number of stations of each group, and `service_s` the mean service time of its
    stations."""
    places = [{"name": "thinking", "colour": "job", "initial": [[id] for id in range(jobs)]}]
    transitions = []
    first = {"place": "q0", "token": ["j.id", f"floor(uniform(0, {copies[0]}))"]}
    transitions.append({"name": "think", "in": [{"place": "thinking", "var": "j"}], "out": [first]})
    for group, (count, mean) in enumerate(zip(copies, service_s, strict=True)):
        places += [
            {"name": f"q{group}", "colour": "visit"},
            {"name": f"s{group}", "colour": "server", "initial": [[at] for at in range(count)]},
            {"name": f"d{group}", "colour": "visit"},
        ]
        transitions.append(
            {
                "name": f"serve{group}",
                "guard": "j.at == s.at",
                "in": [{"place": f"q{group}", "var": "j"}, {"place": f"s{group}", "var": "s"}],
                "out": [{"place": f"d{group}", "token": "j"}, {"place": f"s{group}", "token": "s"}],
                "delay": f"exponential({mean})",
            }
        )
        last = group + 1 == len(copies)
        if last:
            think = f"exponential({think_s})" if think_s else "0"
            out = {"place": "thinking", "token": ["j.id"], "delay": think}
        else:
            draw = f"floor(uniform(0, {copies[group + 1]}))"
            out = {"place": f"q{group + 1}", "token": ["j.id", draw]}
        transitions.append(
            {
                "name": "finish" if last else f"pass{group}",
                "in": [{"place": f"d{group}", "var": "j"}],
                "out": [out],
            }
        )
    colours = {
        "job": [["id", "int"]],
        "visit": [["id", "int"], ["at", "int"]],
        "server": [["at", "int"]],
    }
    return {"name": "closed", "colours": colours, "places": places, "transitions": transitions}


@pytest.mark.parametrize(
    ("jobs", "rate_per_ms", "response_ms"),
    [(1, 0.560224, 1.785), (8, 2.254749, 3.548066), (32, 3.139280, None)],
)
def test_closed_network_of_net_and_disk(jobs, rate_per_ms, response_ms):
    demands = [0.635e-3 / 4] * 4 + [1.15e-3 / 4] * 4
    rate, response = mean_value_analysis(demands, jobs)
    assert rate / 1e3 == pytest.approx(rate_per_ms, rel=1e-5)
    net = closed_net([4, 4], [0.635e-3, 1.15e-3], jobs, 0.0)
    monitors = [
        {"kind": "count", "transition": "finish"},
        {"kind": "sojourn", "from": "think", "to": "finish", "key": "j.id"},
        {"kind": "marking", "place": "s1"},
    ]
    answers = run(net, replications=12, end_time_s=20.0, warm_up_s=1.0, monitors=monitors)
    rates = [answer["monitors"][0]["rate_per_s"] for answer in answers]
    near(*_swap(mean_and_error(rates), rate))
    stays = [answer["monitors"][1]["mean_s"] for answer in answers]
    near(*_swap(mean_and_error(stays), response))
    if response_ms is not None:
        assert response == pytest.approx(response_ms / 1e3, rel=1e-5)
    for answer in answers:
        # By the forced flow law and the utilisation law, the number of busy disks is rate x 1.15
        # ms: four disks, each with a quarter of the visits.
        busy = 4 - answer["monitors"][2]["mean"]
        count = answer["monitors"][0]["count"]
        wanted = answer["monitors"][0]["rate_per_s"] * 1.15e-3
        assert busy == pytest.approx(wanted, rel=6 / math.sqrt(count))
