"""Tests that an installed third-party package adds one member of each kind (file system, workload,
study, …) by entry points.

The package is `tests/support/stranger`: a folder on the module search path, together with its
metadata.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.documents.evidence import Evidence
from dfslab.exports import contract as exports
from dfslab.imports import contract as imports
from dfslab.imports import tool_report
from dfslab.instruments.contract import Instrument
from dfslab.method import Model
from dfslab.nets.contract import net_format
from dfslab.report.contract import page_section
from dfslab.studies import contract as studies
from dfslab.studies.checks.rule import judged
from dfslab.testbeds.found import testbed_class
from support import command

PACKAGE = Path(__file__).parents[1] / "support" / "stranger"
SCENARIO = """
schema = 1
name = "strange"
[[deployment.node]]
name = "machine"
roles = { client = 1, keeper = 1, shelf = 1 }
[file_system]
name = "shelf"
[file_system.access]
testbed = true
[workload]
name = "mostly_listed"
operations_per_client = 40
[run]
repetitions = 2
methods = ["measure", "stopwatch", "guess"]
[[sweep]]
"workload.file_size" = ["64 KiB", "256 KiB"]
"""
REPLAY = """
schema = 1
name = "lines"
[[deployment.node]]
name = "machine"
roles = { client = 1, keeper = 1, shelf = 1 }
[file_system]
name = "shelf"
access = { directory = "." }
[workload]
name = "replay"
form = "lines"
trace = "written.lines"
under = "/in"
[run]
repetitions = 1
methods = ["measure"]
"""


@pytest.fixture
def installed(monkeypatch):
    """Puts the third-party package on the module search path for the duration of a test."""
    monkeypatch.syspath_prepend(PACKAGE)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "strange_lab"]:
        del sys.modules[name]


def listed(*arguments):
    answer = command.dfslab("list", "--json", *arguments)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_without_the_package_nothing_of_it_is_there():
    text = json.dumps(listed())
    assert "strange_lab" not in text


def test_one_of_each_kind_is_listed(installed):
    found = {
        (room, row["name"]): row
        for room, rows in listed().items()
        for row in rows
        if row["from"].startswith("entry point strange_lab.")
    }
    assert set(found) == {
        ("filesystems", "shelf"),
        ("workloads", "mostly_listed"),
        ("methods", "stopwatch"),
        ("methods", "guess"),
        ("studies", "spread_of_package"),
        ("sections", "repetitions"),
        ("importers", "lines"),
        ("exporters", "rates"),
        ("result readers", "tallies"),
        ("net formats", "places"),
        ("rules", "round_rate"),
    }
    assert found["filesystems", "shelf"]["testbed"] == "yes"
    assert found["exporters", "rates"]["title"] == "Rates, one in a line"


def test_each_keeps_the_contract_of_its_kind(installed):
    assert discover.file_system("shelf").has_testbed
    assert testbed_class("shelf", "--on").SYSTEM == "shelf"
    assert discover.workload("mostly_listed").title == "Mostly lists"
    assert isinstance(discover.method("stopwatch"), Instrument)
    assert isinstance(discover.model("guess"), Model)
    assert discover.is_instrument("stopwatch")
    assert not discover.is_instrument("guess")
    assert studies.find("spread_of_package").needs.measured
    assert page_section("repetitions").order == 11
    assert exports.find(exports.ResultExporter, "rates") is not None
    assert imports.importer("lines").recognises(b"#lines\n1 a 2\n")
    assert tool_report.reader("tallies").recognises(b"#tallies\ncreate 10\n")
    assert net_format("places").recognises(b"#places\nqueue\n")
    round_figure = Evidence.model_validate({"speed": {"rate": "5000 /s"}})
    assert [one.rule for one in judged([round_figure])] == ["round_rate"]


@pytest.mark.heavy
def test_one_run_has_all_of_them(installed, tmp_path):
    """One run uses every member of the third-party package. The run uses the package's own testbed,
    which it starts and takes down."""
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    answer = command.dfslab("run", "scenario.toml", "--json", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert len(found["spread_of_package"]["ratios"]) == 2
    assert all(point["predictions"]["guess"]["value"] > 0 for point in found["points"])
    page = Path(tmp_path / found["page"]).read_text()
    assert "4 &lt;runs&gt; were measured." in page
    assert "Spread of repetitions" in page
    rates = command.dfslab("export", found["folder"], "--as", "rates", cwd=tmp_path)
    assert len(rates.stdout.splitlines()) == 2 * 2 + 2
    rows = command.dfslab("export", found["folder"], "--as", "csv", cwd=tmp_path).stdout
    assert rows.count("stopwatch,") == 2
    left = command.dfslab("testbed", "status", "--json").stdout
    assert "shelf" not in left


@pytest.mark.heavy
def test_what_its_importer_reads_is_replayed(installed, tmp_path):
    (tmp_path / "scenario.toml").write_text(REPLAY)
    (tmp_path / "written.lines").write_text("#lines\n0.0 /in/a 4096\n0.5 /out/b 1\n1 /in/c 8192\n")
    answer = command.dfslab("measure", "scenario.toml", "--json", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    (result,) = json.loads(answer.stdout)["results"]
    assert result["load"]["operations"]["pwrite"]["bytes"] == 4096 + 8192


def test_a_net_of_its_format_is_read_and_written(installed, tmp_path):
    """The commands for nets read a file of the package's format, and write nets in the format."""
    path = tmp_path / "one.places"
    path.write_text("#places\nqueue\nserver\n")
    shown = command.dfslab("net", "show", path, "--as", "json")
    assert [one["name"] for one in json.loads(shown.stdout)["places"]] == ["queue", "server"]
    again = command.dfslab("net", "show", path, "--as", "places")
    assert again.stdout == path.read_text()


def test_its_rule_judges_what_its_reader_reads(installed, tmp_path):
    """`dfslab check` reads a file of the package's tool, and the package's rule reports one of the
    two rates in the file as doubtful."""
    path = tmp_path / "results.txt"
    path.write_text("#tallies\ncreate 3000\nstat 4321.5\n")
    answer = command.dfslab("check", path, "--json")
    assert answer.returncode == 1, answer.stderr
    (found,) = json.loads(answer.stdout)["findings"]
    assert found["rule"] == "round_rate"
    assert "create" in found["subject"]
    assert found["stated"] == "3000 operations per second are round"


# The keys are names that the third-party package adds. Each value is the kind of the member, which
# is also the name of the folder below DFSLAB_PATH in which a single file could add the same member.
FOLDERS = {
    "mostly_listed": discover.WORKLOADS,
    "stopwatch": discover.INSTRUMENTS,
    "guess": discover.MODELS,
    "spread": discover.STUDIES,
    "repetitions": discover.SECTIONS,
    "lines": discover.IMPORTERS,
    "rates": discover.EXPORTERS,
    "tallies": discover.RESULT_READERS,
    "places": discover.NET_FORMATS,
    "round_rates": discover.RULES,
}


def test_the_same_files_in_a_folder_are_members_too(tmp_path, monkeypatch):
    for name, room in FOLDERS.items():
        folder = tmp_path / room.folder
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / "strange_lab" / f"{name}.py", folder)
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    before = set(sys.modules)
    try:
        found = {
            row["from"]
            for rows in listed().values()
            for row in rows
            if row["from"].startswith(str(tmp_path))
        }
        assert found == {str(tmp_path / r.folder / f"{n}.py") for n, r in FOLDERS.items()}
        assert isinstance(discover.method("stopwatch"), Instrument)
        assert studies.find("spread_of_package").name == "spread_of_package"
        assert page_section("repetitions").title == "Number of runs"
        assert exports.find(exports.ResultExporter, "rates") is not None
        assert imports.importer("lines").title == "Written files, one in a line"
        assert tool_report.reader("tallies").title == "Tallies, one rate in a line"
        assert net_format("places").title == "Places, one in a line"
    finally:
        for name in set(sys.modules) - before:
            if str(vars(sys.modules[name]).get("__file__")).startswith(str(tmp_path)):
                del sys.modules[name]


def test_a_module_that_is_not_there_is_named(tmp_path, monkeypatch):
    shutil.copytree(PACKAGE / "strange_lab-1.dist-info", tmp_path / "strange_lab-1.dist-info")
    monkeypatch.syspath_prepend(tmp_path)
    answer = command.dfslab("list")
    assert answer.returncode == 2
    assert "entry point strange_lab.shelf of dfslab.file_systems: no such module" in answer.stderr


def test_a_member_without_its_declaration_is_named(tmp_path, monkeypatch):
    shutil.copytree(PACKAGE, tmp_path / "copy")
    (tmp_path / "copy" / "strange_lab" / "rates.py").write_text('"""Nothing."""\nTITLE = "x"\n')
    monkeypatch.syspath_prepend(tmp_path / "copy")
    try:
        answer = command.dfslab("list")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "strange_lab"]:
            del sys.modules[name]
    assert answer.returncode == 2
    assert "rates.py: lacks EXPORTER" in answer.stderr


def test_all_of_its_members_pass_the_check_for_authors(installed):
    answer = command.dfslab("doctor", "--members", "--json")
    assert answer.returncode == 0, answer.stdout
    found = json.loads(answer.stdout)
    assert {one["kind"] for one in found} == {room.noun for room in discover.ROOMS}
    assert all(one["problem"] == "" for one in found)


def test_the_check_for_authors_states_what_is_wrong(tmp_path, monkeypatch):
    """Four mistakes are found: a reader that recognises every file, a study that fails, a rule that
    needs no evidence, and a group that does not exist. The other members are checked, too."""
    shutil.copytree(PACKAGE, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    package = tmp_path / "copy" / "strange_lab"
    for name, before, after in (
        ("tallies", "head.startswith(HEAD)", "True"),
        ("spread", "needs = Needs(measured=True)", "needs = Needs()"),
        ("spread", "return Spread(ratios=", 'return Spread(ratio={}["x"], ratios='),
        ("round_rates", "return None", 'return "wrong"'),
    ):
        path = package / f"{name}.py"
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
    entries = tmp_path / "copy" / "strange_lab-1.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text() + "\n[dfslab.study]\nmine = strange_lab.spread\n")
    monkeypatch.syspath_prepend(tmp_path / "copy")
    try:
        answer = command.dfslab("doctor", "--members")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "strange_lab"]:
            del sys.modules[name]
    assert answer.returncode == 2
    shown = " ".join(answer.stdout.split())
    assert "entry point strange_lab.tallies: recognises b''" in shown
    assert "spread.py:41: KeyError: 'x'" in shown
    assert "strange_lab.round_rates: finds a contradiction in no evidence" in shown
    assert "entry point strange_lab.spread: group dfslab.study is none of" in shown
    assert shown.count(" works ") == len(discover.ROOMS) - 3


def test_without_other_members_there_is_nothing_to_check():
    answer = command.dfslab("doctor", "--members")
    assert answer.returncode == 0
    assert answer.stdout.startswith("no members")
    refused = command.dfslab("doctor", "--members", "--clean")
    assert refused.returncode == 2
