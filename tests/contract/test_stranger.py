"""Tests that a third party can add a file system as one folder, or a workload or a study as one
file.

Discovery, commands and the page then use these additions without any change to dfslab.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support import command

FACTS = '''"""What is known of a directory with a made-up lock server before it."""

from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

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


def target(endpoint, parameters):
    """A directory."""
    return PosixTarget(root=endpoint.directory)


FACTS = Facts(title=TITLE, source=SOURCE, roles=ROLES, parameters=PARAMETERS,
              access_keys=ACCESS_KEYS, check=check, target=target)
'''

OPERATIONS = '''"""Operations behind a lock server."""

from dfslab.filesystems.shelffs.facts import PARAMETERS as P
from dfslab.spec.steps.operation import call, cpu, repeat, seq

_ticket = repeat(P.tickets, call("keeper", "ticket", cpu("keeper", P.ticket_cpu)))
_move = seq(cpu("client", P.file_size * P.byte_cpu), name="move")

OPERATIONS = {
    "read": seq(seq(_ticket, name="open"), _move),
    "write": seq(seq(_ticket, name="create"), _move),
}
'''

WORKLOAD = '''"""Reads with a few writes between them."""

from dfslab.spec.streams.vocabulary import Share, Stream
from dfslab.spec.streams.workload import FileParameters, Streams, fixed

TITLE = "Mostly reads"
Parameters = FileParameters


def stream(parameters):
    """Nine reads to a write."""
    return Stream(
        mix=[Share(operation="read", weight=9.0), Share(operation="write", weight=1.0)],
        file_size=fixed(parameters.file_size),
        transfer_size_bytes=int(parameters.transfer_size),
        operations_per_client=parameters.operations(),
        files_per_client=16,
        file_choice="uniform",
    )


WORKLOAD = Streams(TITLE, Parameters, stream)
'''

STUDY = '''"""The spread of repetitions: how far the fastest run is from the slowest."""

from dfslab.documents.table import Table, heads, percent, words
from dfslab.studies.contract import Needs, Study, StudyResult

NAMES = ("NAME",)


class Spread(StudyResult):
    """Fastest over slowest rate of each configuration, less one."""

    study = "NAME"
    section_order = 12
    title = "Spread of repetitions"
    empty = "Nothing was repeated."

    ratios: dict[str, float]

    def tables(self, run):
        """One row a configuration."""
        labels = {point.id: point.labels for point in run.points}
        rows = [(words(run.name(labels[id])), percent(one)) for id, one in self.ratios.items()]
        return [Table("Fastest over slowest", heads("configuration", "spread"), rows)]


class SpreadStudy(Study[Spread]):
    """Compares repetitions."""

    name = "NAME"
    result = Spread
    needs = Needs(measured=True)

    def run(self, run, progress):
        """The ratios."""
        rates = {}
        for one in run.of_method("measure"):
            rates.setdefault(one.point_id, []).append(one.value())
        return Spread(ratios={id: max(all) / min(all) - 1 for id, all in rates.items()})


def make(name):
    """The study."""
    return SpreadStudy()
'''

ENTRY_POINT = "[dfslab.studies]\nspread_of_package = strange_package\n"

SCENARIO = """
schema = 1
name = "stranger"
[[deployment.node]]
name = "machine"
roles = { client = 1, keeper = 1, shelf = 1 }
[file_system]
name = "shelffs"
tickets = 2
access = { directory = "." }
[workload]
name = "mostly_reads"
operations_per_client = 12
[run]
repetitions = 2
[[sweep]]
"workload.file_size" = ["64 KiB", "256 KiB", "1 MiB", "2 MiB"]
"workload.clients" = [1, 2]
[judge]
hold_out = [{ "workload.file_size" = "1 MiB" }]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Creates a folder with additions, laid out like the dfslab package. One study is part of an
    installed package instead."""
    system = tmp_path / "plugins" / "filesystems" / "shelffs"
    system.mkdir(parents=True)
    (system / "facts.py").write_text(FACTS)
    (system / "operations.py").write_text(OPERATIONS)
    (tmp_path / "plugins" / "workloads").mkdir()
    (tmp_path / "plugins" / "workloads" / "mostly_reads.py").write_text(WORKLOAD)
    (tmp_path / "plugins" / "studies").mkdir()
    (tmp_path / "plugins" / "studies" / "spread.py").write_text(STUDY.replace('"NAME"', '"spread"'))
    # An installed package consists of a folder on the module search path and a folder with its
    # metadata.
    installed = tmp_path / "installed" / "strange_package-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: strange-package\nVersion: 1\n"
    )
    (installed / "entry_points.txt").write_text(ENTRY_POINT)
    package = tmp_path / "installed" / "strange_package.py"
    package.write_text(STUDY.replace('"NAME"', '"spread_of_package"'))
    monkeypatch.syspath_prepend(package.parent)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    rooms = {name: list(module.__path__) for name, module in packages().items()}
    yield tmp_path
    # Remove the modules that this test imported. In real use they would end with the process.
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    for name, module in packages().items():
        module.__path__[:] = rooms.get(name, module.__path__)


def packages():
    """Returns every package below `dfslab` that is imported now: its module object by its name."""
    return {
        name: module
        for name, module in sys.modules.items()
        if name.startswith("dfslab.") and isinstance(getattr(module, "__path__", None), list)
    }


def dfslab(place, *arguments):
    return command.dfslab(*arguments, cwd=place, env={"DFSLAB_PATH": str(place / "plugins")})


def test_all_are_listed_with_where_they_came_from(place):
    answer = dfslab(place, "list", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    systems = {row["name"]: row for row in found["filesystems"]}
    workloads = {row["name"]: row for row in found["workloads"]}
    studies = {row["name"]: row for row in found["studies"]}
    assert studies["spread"]["from"].startswith(str(place))
    assert studies["spread_of_package"]["from"] == "entry point strange_package"
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


@pytest.mark.heavy
def test_a_study_stands_in_terminal_json_page_and_csv(place):
    answer = dfslab(place, "measure", "scenario.toml", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    for name in ("spread", "spread_of_package"):
        ratios = found[name]["ratios"]
        assert len(ratios) == 8
        assert all(one >= 0 for one in ratios.values())
    folder = found["folder"]
    shown = dfslab(place, "compare", folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count("Fastest over slowest") == 2
    assert "mostly_reads" not in shown.stdout.partition("Fastest over slowest")[2], "named short"
    page = Path(place / found["page"]).read_text()
    assert page.count("Spread of repetitions") >= 2
    rows = dfslab(place, "export", folder, "--as", "tables").stdout
    assert rows.count("# Fastest over slowest") == 2


def test_a_study_of_a_taken_name_is_refused(place):
    (place / "installed" / "strange_package-1.dist-info" / "entry_points.txt").write_text(
        "[dfslab.studies]\ncomparison = strange_package\n"
    )
    answer = dfslab(place, "list")
    assert answer.returncode == 2
    assert "there is already a study comparison" in answer.stderr


def test_a_broken_member_is_named(place):
    (place / "plugins" / "workloads" / "broken.py").write_text('"""No stream."""\nTITLE = "x"\n')
    answer = dfslab(place, "list")
    assert answer.returncode == 2
    assert "broken.py" in answer.stderr
    assert "lacks" in answer.stderr


def test_a_study_that_nothing_makes_is_named(place):
    text = STUDY.partition("def make")[0].replace('"NAME"', '"unmade"')
    (place / "plugins" / "studies" / "unmade.py").write_text(text)
    answer = dfslab(place, "measure", "scenario.toml", "--set", "run.repetitions=1")
    assert answer.returncode == 2
    assert "unmade.py: lacks make" in answer.stderr
