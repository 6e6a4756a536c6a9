"""Runs the PVFS net (8 clients, 4 servers, exponential service) in other simulators and reports
their firings per second.

Every rate is the number of firings of the coloured net per second of processor time. A request of
16 chunks takes 49 firings. SimPy has no firings, so it is credited with the firings that the net
needs for the same requests. SNAKES has no time, so its tokens carry their time. The last line is
one JSON object with the median rate of three rounds and the range of these rates.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

import simpy
from simpn.simulator import SimProblem, SimToken
from snakes.nets import Expression, MultiArc, PetriNet, Place, Transition, Tuple, Variable

CLIENTS, SERVERS, CHUNKS = 8, 4, 16
FIRINGS_PER_REQUEST = 1 + 3 * CHUNKS
NET_S, DISK_S = 0.000635, 0.00115


def service_s(mean_s: float, key: object = None) -> float:
    """Returns one exponential service time in seconds. Calls with equal keys return equal times."""
    return (random if key is None else random.Random(hash(key))).expovariate(1 / mean_s)


def in_simpy(requests: int) -> int:
    """Runs the PVFS model in SimPy as processes and resources. Returns the number of firings that
    an equivalent net needs.
    """
    env = simpy.Environment()
    net = [simpy.Resource(env) for _ in range(SERVERS)]
    disk = [simpy.Resource(env) for _ in range(SERVERS)]

    def chunk(server: int):
        for station, mean_s in ((net[server], NET_S), (disk[server], DISK_S)):
            with station.request() as turn:
                yield turn
                yield env.timeout(service_s(mean_s))

    def client():
        for _ in range(requests):
            yield env.all_of([env.process(chunk(at % SERVERS)) for at in range(CHUNKS)])

    for _ in range(CLIENTS):
        env.process(client())
    env.run()
    return CLIENTS * requests * FIRINGS_PER_REQUEST


def in_simpn(requests: int) -> int:
    """Runs the PVFS net in simpn, with behaviours and guards as Python functions. Returns the
    number of firings.
    """
    problem = SimProblem()
    ready, waiting, done = (problem.add_var(name) for name in ("ready", "waiting", "done"))
    net_queue, net_idle = problem.add_var("net_queue"), problem.add_var("net_idle")
    disk_queue, disk_idle = problem.add_var("disk_queue"), problem.add_var("disk_idle")
    for client in range(CLIENTS):
        ready.put((client, requests))
    for server in range(SERVERS):
        net_idle.put(server)
        disk_idle.put(server)
    fired = [0]

    def issue(r):
        fired[0] += 1
        chunks = [SimToken((r[0], at % SERVERS)) for at in range(CHUNKS)]
        return [*chunks, SimToken((r[0], r[1] - 1, CHUNKS))]

    def station(mean_s):
        def serve(c, s):
            fired[0] += 1
            spent_s = service_s(mean_s)
            return [SimToken(c, delay=spent_s), SimToken(s, delay=spent_s)]

        return serve

    def collect(d, w):
        fired[0] += 1
        return [SimToken((w[0], w[1], w[2] - 1))]

    def finish(d, w):
        fired[0] += 1
        return [SimToken((w[0], w[1]))]

    same = lambda c, s: c[1] == s  # noqa: E731
    problem.add_event(
        [ready], [net_queue] * CHUNKS + [waiting], issue, name="issue", guard=lambda r: r[1] > 0
    )
    problem.add_event(
        [net_queue, net_idle], [disk_queue, net_idle], station(NET_S), name="net", guard=same
    )
    problem.add_event(
        [disk_queue, disk_idle], [done, disk_idle], station(DISK_S), name="disk", guard=same
    )
    problem.add_event(
        [done, waiting],
        [waiting],
        collect,
        name="collect",
        guard=lambda d, w: d[0] == w[0] and w[2] > 1,
    )
    problem.add_event(
        [done, waiting],
        [ready],
        finish,
        name="finish",
        guard=lambda d, w: d[0] == w[0] and w[2] == 1,
    )
    while problem.step():
        pass
    return fired[0]


def snakes_net(requests: int) -> PetriNet:
    """Returns the PVFS net for SNAKES. Every token carries the time from which it is available."""
    net = PetriNet("pvfs")
    net.globals["service_s"] = service_s
    net.add_place(Place("ready", [(0.0, client, requests) for client in range(CLIENTS)]))
    for name in ("waiting", "net_queue", "disk_queue", "done"):
        net.add_place(Place(name, []))
    for name in ("net_idle", "disk_idle"):
        net.add_place(Place(name, [(0.0, server) for server in range(SERVERS)]))

    def token(*names: str) -> Tuple:
        return Tuple([Variable(name) for name in names])

    net.add_transition(Transition("issue", Expression("left > 0")))
    net.add_input("ready", "issue", token("t", "c", "left"))
    net.add_output("waiting", "issue", Expression(f"(t, c, left - 1, {CHUNKS})"))
    chunks = [Expression(f"(t, c, {at % SERVERS})") for at in range(CHUNKS)]
    net.add_output("net_queue", "issue", MultiArc(chunks))
    for name, queue, after, mean_s in (
        ("net", "net_queue", "disk_queue", NET_S),
        ("disk", "disk_queue", "done", DISK_S),
    ):
        net.add_transition(Transition(name))
        net.add_input(queue, name, token("t", "c", "s"))
        net.add_input(f"{name}_idle", name, token("u", "s"))
        # The service time is drawn once per firing, so both output tokens get the same time.
        due = f"max(t, u) + service_s({mean_s}, (t, c, s))"
        net.add_output(after, name, Expression(f"({due}, c, s)"))
        net.add_output(f"{name}_idle", name, Expression(f"({due}, s)"))
    for name, guard in (("collect", "n > 1"), ("finish", "n == 1")):
        net.add_transition(Transition(name, Expression(guard)))
        net.add_input("done", name, token("t", "c", "s"))
        net.add_input("waiting", name, token("u", "c", "left", "n"))
    net.add_output("waiting", "collect", Expression("(max(t, u), c, left, n - 1)"))
    net.add_output("ready", "finish", Expression("(max(t, u), c, left)"))
    return net


def in_snakes(requests: int) -> int:
    """Runs the PVFS net in SNAKES and returns the number of firings. SNAKES has no time, so each
    token is a pair (time, value), as the author of SNAKES advises.

    Every step queries all transitions for their modes (bindings). The step fires the mode whose
    tokens are available first. The time of a mode is the time of its latest token. An event list
    outside the net would make the run about five times as fast (2,400 firings per second instead of
    440). But then half of the simulator would not be SNAKES.
    """
    net = snakes_net(requests)
    fired = 0
    while True:
        modes = [
            (max(mode[name] for name in ("t", "u") if name in mode), transition.name, at, mode)
            for transition in net.transition()
            for at, mode in enumerate(transition.modes())
        ]
        if not modes:
            return fired
        _, name, _, mode = min(modes, key=lambda entry: entry[:3])
        net.transition(name).fire(mode)
        fired += 1


def rates(run: Callable[[int], int], requests: int) -> list[float]:
    """Returns firings per second of processor time for each of three rounds, in ascending order."""
    found = []
    for _ in range(3):
        random.seed(1)
        start_s = time.process_time()
        fired = run(requests)
        assert fired == CLIENTS * requests * FIRINGS_PER_REQUEST, f"{run.__name__}: {fired}"
        found.append(fired / (time.process_time() - start_s))
    return sorted(found)


if __name__ == "__main__":
    every = {
        "simpy": rates(in_simpy, 64),
        "simpn": rates(in_simpn, 2),
        "snakes": rates(in_snakes, 1),
    }
    medians = {name: found[1] for name, found in every.items()}
    intervals = {name: (found[0], found[2]) for name, found in every.items()}
    print(json.dumps({"figures": medians, "intervals": intervals}))
