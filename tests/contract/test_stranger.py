"""A stranger adds a file system as one folder and a workload as one file: all else follows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support import command

FACTS = '''"""What is known of a directory with a made-up lock server before it."""

from dfslab.spec.filesystem import Facts, Role
from dfslab.spec.parameters import Parameter, Parameters

TITLE = "A directory behind a lock server"
SOURCE = "made up"
ROLES = (Role("client", "client", "ClientNode"), Role("keeper", "metadata", "NameNode"),
         Role("shelf", "data", "DataNode"))
PARAMETERS = Parameters(
    Parameter("ticket_cpu", "Handing out a ticket", "s", "calibrated", 1e-5),
    Parameter("byte_cpu", "Moving a byte", "s/B", "calibrated", 3e-10),
    Parameter("tickets", "Tickets of one operation", "1", "filesystem", 1.0, minimum=1),
)
ACCESS_KEYS = ("directory",)


def check(parameters, instances):
    """Nothing is forbidden."""
    return []


def target(access, parameters):
    """A directory."""
    return {"kind": "posix", "root": access["directory"]}


FACTS = Facts(title=TITLE, source=SOURCE, roles=ROLES, parameters=PARAMETERS,
              access_keys=ACCESS_KEYS, check=check, target=target)
'''

OPERATIONS = '''"""Operations behind a lock server."""

from dfslab.filesystems.shelffs.facts import PARAMETERS as P
from dfslab.spec.operation import call, cpu, repeat, seq

_ticket = repeat(P.tickets, call("keeper", "ticket", cpu("keeper", P.ticket_cpu)))
_move = seq(cpu("client", P.file_size * P.byte_cpu), name="move")

OPERATIONS = {
    "read": seq(seq(_ticket, name="open"), _move),
    "write": seq(seq(_ticket, name="create"), _move),
}
'''

WORKLOAD = '''"""Reads with a few writes between them."""

from dfslab.spec.workload import FileParameters, Streams

TITLE = "Mostly reads"
Parameters = FileParameters


def stream(parameters):
    """Nine reads to a write."""
    return {
        "mix": [{"operation": "read", "weight": 9.0}, {"operation": "write", "weight": 1.0}],
        "file_size": {"fixed": int(parameters.file_size)},
        "transfer_size_bytes": int(parameters.transfer_size),
        "operations_per_client": parameters.operations(),
        "files_per_client": 16,
        "file_choice": "uniform",
    }


WORKLOAD = Streams(TITLE, Parameters, stream)
'''

SCENARIO = """
schema = 1
name = "stranger"
[[deployment.node]]
name = "machine"
roles = { client = 1, keeper = 1, shelf = 1 }
[file_system]
name = "shelffs"
tickets = 2
[workload]
name = "mostly_reads"
operations_per_client = 40
[run]
repetitions = 2
[[sweep]]
"workload.file_size" = ["64 KiB", "256 KiB", "1 MiB", "2 MiB", "4 MiB"]
"workload.clients" = [1, 2]
[judge]
hold_out = [{ "workload.file_size" = "1 MiB" }]
"""


@pytest.fixture
def place(tmp_path):
    """A folder laid out like the package, with the stranger's two additions."""
    system = tmp_path / "plugins" / "filesystems" / "shelffs"
    system.mkdir(parents=True)
    (system / "facts.py").write_text(FACTS)
    (system / "operations.py").write_text(OPERATIONS)
    (tmp_path / "plugins" / "workloads").mkdir()
    (tmp_path / "plugins" / "workloads" / "mostly_reads.py").write_text(WORKLOAD)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    rooms = {name: list(module.__path__) for name, module in packages().items()}
    yield tmp_path
    # A process would end here, and what it imported with it.
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    for name, module in packages().items():
        module.__path__[:] = rooms.get(name, module.__path__)


def packages():
    """The package's folders that are imported."""
    return {
        name: module
        for name, module in sys.modules.items()
        if name.startswith("dfslab.") and isinstance(getattr(module, "__path__", None), list)
    }


def dfslab(place, *arguments):
    return command.dfslab(*arguments, cwd=place, env={"DFSLAB_PATH": str(place / "plugins")})


def test_both_are_listed_with_where_they_came_from(place):
    answer = dfslab(place, "list", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    systems = {row["name"]: row for row in found["filesystems"]}
    workloads = {row["name"]: row for row in found["workloads"]}
    assert systems["shelffs"]["from"].startswith(str(place))
    assert workloads["mostly_reads"]["from"].startswith(str(place))


@pytest.mark.parametrize("form", ["table", "formula", "mermaid", "plantuml", "net"])
def test_every_picture_is_drawn(place, form):
    answer = dfslab(place, "show", "filesystem", "shelffs", "--as", form)
    assert answer.returncode == 0, answer.stderr
    assert "ticket" in answer.stdout


@pytest.mark.heavy
def test_it_runs_through_every_method(place):
    answer = dfslab(place, "run", "scenario.toml", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert set(found["held_out"]) >= {"sequence", "petri", "regression", "mean"}
    for name in ("sequence", "petri", "regression", "mean"):
        score = found["held_out"][name]
        assert score["n"] == 2
        assert score["median_abs_error"] >= 0
        assert 0 <= score["coverage_90"] <= 1
    for point in found["points"]:
        for metric in point["predictions"].values():
            assert metric["low"] <= metric["value"] <= metric["high"]
    assert Path(place / found["page"]).exists()
    assert list((place / Path(found["folder"]) / "traces").glob("*.otlp"))


def test_a_broken_member_is_named(place):
    (place / "plugins" / "workloads" / "broken.py").write_text('"""No stream."""\nTITLE = "x"\n')
    answer = dfslab(place, "list")
    assert answer.returncode == 1
    assert "broken.py" in answer.stderr
    assert "lacks" in answer.stderr
