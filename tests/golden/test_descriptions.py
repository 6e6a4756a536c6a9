"""Tests that three properties of every file system's description are as recorded, for a grid of
parameter values: the times of each operation, the symbolic formulas, and the nets. A description
states the steps of each operation.

A description may be rewritten if latency, demand at each resource, formula and structure of the net
stay as recorded. `DFSLAB_RECORD=1 pytest tests/golden` records new values.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.models.compiled.net_job import NetJob
from dfslab.models.tree.formula import formula
from dfslab.models.tree.prediction import Situation
from dfslab.models.tree.reader import TreeReader
from dfslab.spec.model import build
from dfslab.spec.scenario import Scenario
from support.nets import canonical
from support.operations import planned
from sympy.printing.pycode import PythonCodePrinter

FILE = Path(__file__).parent / "descriptions.json"
SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
CASES = 8
NETS = 3
SIZES_BYTES = (1.0, 4096.0, 70_000.0, 3e6, 2e7, 3e8)
CALLS_BYTES = (512.0, 65536.0, 131072.0, 1048576.0)
SWITCHES = ("direct", "cold", "fsync", "scattered", "unforced")
SHARES = ("kept", "first")
COUNTS = {
    "copies": (1, 2, 3, 4, 6),
    "data_fragments": (1, 2, 4),
    "replication": (1, 2, 3),
    "goal": (1, 2, 3),
    "stripe_count": (1, 2, 4),
}
# Parameters that were added after the recording. These parameters keep their defaults in the tests,
# because drawing values for them would change the random values of later parameters.
ADDED = ("read_streams", "server_write_through")
# The keys are file systems whose names have changed since their numbers were recorded. The values
# are their names at that time.
FORMER_NAMES = {"openzfs": "zfs"}
# Number of servers of a data role: enough for copies and stripes. A file system that allows only
# one server gets one.
SERVERS = 6


def instances(system):
    """Returns for each role the number of nodes with this role: SERVERS for a data role, else 1. If
    the file system refuses these numbers, every role has one node."""
    defaults = {one.key: one.default for one in system.parameters if one.origin == "filesystem"}
    counts = {role.name: SERVERS if role.kind == "data" else 1 for role in system.roles}
    wrong = system.check(defaults, counts)
    return {role.name: 1 for role in system.roles} if wrong else counts


def situation(name):
    """Returns the situation (deployment, file system and workload) of one client and several data
    servers, each on its own node."""
    system = discover.file_system(name)
    nodes = [
        {"name": role, "count": count, "roles": {role: 1}}
        for role, count in instances(system).items()
    ]
    table = {
        "name": "golden",
        "deployment": {"node": nodes},
        "file_system": {"name": name},
        "workload": {"name": "sequential_read"},
    }
    return Situation(build(Scenario, table))


def cases(given):
    """Returns several legal sets of parameter values for the file system of `given`. The values are
    drawn at random, with the file system's name as the seed."""
    name = given.system.name
    seeded = random.Random(FORMER_NAMES.get(name, name))
    counts = instances(given.system)
    calibrated = given.system.parameters.of_origin("calibrated")
    found = []
    while len(found) < CASES:
        values = {**given.environment, **{key: one.default for key, one in calibrated.items()}}
        values |= {key: float(seeded.random() < 0.5) for key in SWITCHES}
        values |= {key: seeded.choice((0.0, 0.25, 1.0)) for key in SHARES}
        values["file_size"] = seeded.choice(SIZES_BYTES)
        values["transfer_size"] = seeded.choice(CALLS_BYTES)
        values["entries"] = seeded.choice((1.0, 100.0))
        own = dict(given.parameters)
        for parameter in given.system.parameters:
            key = parameter.key
            if key in own and key not in ADDED and seeded.random() < 0.5:
                options = parameter.choices or COUNTS.get(key, (parameter.default,))
                own[key] = float(seeded.choice(options))
        if not given.system.check(own, counts):
            found.append({**values, **own})
    return found


def of_case(given, tree, values):
    """Returns three times in seconds of the operation `tree` at the parameter values `values`: its
    latency, the sum of its demands at all resources, and the sum of the demands of the background
    work that continues after the operation has ended."""
    cost = TreeReader(given.placement, values, given.client, 0.5).read(tree)
    front, behind = (math.fsum(work.values()) for work in (cost.demands, cost.background))
    return [float(f"{one:.10g}") for one in (cost.latency_s, front, behind)]


class Numbers(PythonCodePrinter):
    """Prints a SymPy expression as Python code, which uses the module `math` and looks up each
    symbol in the mapping `values`."""

    def _print_Symbol(self, expr):  # noqa: N802
        return f"values[{expr.name!r}]"


def of_formula(given, operation, tree, grid):
    """Returns the latency in seconds that the symbolic formula gives for every set of parameter
    values in `grid`."""
    found = formula(operation, tree, given.client)
    left = {"total": found.total, **{str(name): expression for name, expression in found.steps}}
    known = [dict(values) for values in grid]

    def work_out(name):
        expression = left.pop(name)
        for one in sorted(map(str, expression.free_symbols)):
            if one in left:
                work_out(one)
        # Code is compiled here instead of by `sympy.lambdify`, which renames symbols first and
        # thereby evaluates every maximum again.
        code = compile(Numbers().doprint(expression), f"<{name}>", "eval")
        for values in known:
            values[name] = eval(code, {"math": math, "values": values})

    work_out("total")
    return [float(f"{values['total']:.10g}") for values in known]


def of_net(given, operation, tree, values):
    """Returns a digest of the structure of the operation's net. The digest does not depend on the
    names of places and transitions."""
    job = NetJob({operation: tree}, given.placement, values, given.client, written_back=0.5)
    size = int(values["file_size"])
    net, watched = job.net("golden", 1, [planned(0, 0, operation, 0, size, 131072)])
    net = canonical(net)
    names = {place["name"]: f"p{number}" for number, place in enumerate(net["places"])}
    places = [[place["colour"], place.get("initial", [])] for place in net["places"]]
    moves = [
        [
            [names[arc["place"]] for arc in one.get("in", [])],
            [[names[arc["place"]], arc["token"], arc.get("delay")] for arc in one.get("out", [])],
            one.get("guard"),
        ]
        for one in net["transitions"]
    ]
    steps = [[one, str(step)] for one, step in watched.steps.values()]
    text = json.dumps([places, moves, steps, sorted(map(str, watched.idle))])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def described(name):
    """Returns for each operation of the file system `name` its times for every set of parameter
    values, and digests of some of its nets."""
    given = situation(name)
    grid = cases(given)
    found = {}
    for operation, tree in given.system.trees.items():
        found[operation] = [of_case(given, tree, values) for values in grid]
        found[operation] += [of_net(given, operation, tree, values) for values in grid[:NETS]]
    for operation, tree in given.system.operations.items():
        found[f"{operation} by formula"] = [of_formula(given, operation, tree, grid)]
    return found


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_description_says_what_was_recorded(name):
    found = described(name)
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("DFSLAB_RECORD"):
        recorded[name] = found
        lines = [f" {json.dumps(one)}: {json.dumps(of)}" for one, of in sorted(recorded.items())]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    expected = recorded[name]
    assert found.keys() == expected.keys()
    for operation, rows in found.items():
        for case, (row, before) in enumerate(zip(rows, expected[operation], strict=True)):
            same = before if isinstance(before, str) else pytest.approx(before, rel=1e-9)
            assert row == same, f"{operation}, case {case}"
