"""Tests that a wrong member outside the package is reported in one line, with its file, the line in
the file and the reason."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.cli import root
from dfslab.cli.quick import member_check
from dfslab.documents.evidence import Evidence
from dfslab.imports import tool_report
from dfslab.laboratory import Laboratory
from dfslab.spec.check import check
from dfslab.spec.scenario import read
from dfslab.studies import contract
from dfslab.studies.checks.rule import judged
from support import command

FACTS = '''"""What is known of quarry."""
from dfslab.spec.streams.target import PosixTarget
from dfslab.spec.systems.filesystem import Facts, Role
from dfslab.spec.systems.parameters import Parameter, Parameters

TITLE = "Quarry: chunks behind a catalog"
ROLES = (
    Role("client", "client", "ClientNode"),
    Role("catalog", "metadata", "CatalogServer"),
    Role("pit", "data", "PitNode"),
)
PARAMETERS = Parameters(
    Parameter("lookup_cpu", "Looking a chunk up", "s", "calibrated", 2e-5),
    Parameter("chunk", "Size of a chunk", "B", "filesystem", 1048576.0, minimum=4096),
)


def check(parameters, instances):
    return []


FACTS = Facts(
    title=TITLE, source="made up", roles=ROLES, parameters=PARAMETERS,
    access_keys=("directory",), check=check,
    target=lambda endpoint, parameters: PosixTarget(root=endpoint.directory),
)
'''
OPERATIONS = '''"""Operations of quarry."""
from dfslab.spec.steps.operation import call, cpu, disk_read, repeat, seq

from .facts import PARAMETERS as P

_lookup = call("catalog", "lookup", cpu("catalog", P.lookup_cpu))
_chunks = repeat(P.file_size / P.chunk, disk_read("pit", P.chunk))

OPERATIONS = {
    "read": seq(seq(_lookup, name="open"), seq(_chunks, name="read")),
}
'''
SCENARIO = """
schema = 1
name = "wrong"
[[deployment.node]]
name = "machine"
roles = { client = 1, catalog = 1, pit = 1 }
[file_system]
name = "quarry"
access = { directory = "." }
[workload]
name = "sequential_read"
"""
# Each case is (a text in `facts.py` or `operations.py`, the replacement of this text, a regular
# expression that matches the end of the message).
WRONG = {
    "undeclared": ("P.lookup_cpu", "P.lokup_cpu", r"operations\.py:6: .*did you mean lookup_cpu"),
    "role": ('cpu("catalog"', 'cpu("catalogue"', r"operations\.py: operation read: role 'catalog"),
    "operation": ('"read": seq', '"raed": seq', r"operations\.py: operation 'raed' is unknown"),
    "tuple": ('"read": seq(', '"read": (', r"operations\.py: operation read is a tuple, must be"),
    "syntax": ("OPERATIONS = {", "OPERATIONS = {{", r"operations\.py:9: SyntaxError: "),
    "idle": ("P.lookup_cpu", "2e-5", r"no operation uses the parameters lookup_cpu of facts\.py"),
    "keyword": ("access_keys=", "acces_keys=", r"facts\.py:22: TypeError: .*'acces_keys'"),
    "origin": ('"calibrated"', '"calibratd"', r"facts\.py:13: .*did you mean calibrated\?"),
    "prior": ("2e-5", "0.0", r"facts\.py:13: parameter lookup_cpu: .*default above 0"),
    "unit": ('"s", "cal', '"secs", "cal', r"facts\.py:13: .*'secs': must be an SI unit: .*s/B"),
    "kind": ('"metadata"', '"meta"', r"facts\.py:9: role catalog: kind 'meta' .* metadata\?"),
    "key": ('"chunk", "Size', '"lookup_cpu", "Size', r"facts\.py:12: .*same key: lookup_cpu"),
}


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Creates an empty folder that DFSLAB_PATH names. Afterwards, forgets the modules in it."""
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    for name in [name for name in sys.modules if name.startswith("dfslab.filesystems.quarry")]:
        del sys.modules[name]
    if systems := sys.modules.get("dfslab.filesystems"):
        systems.__path__[:] = [one for one in systems.__path__ if not one.startswith(str(tmp_path))]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def quarry(folder: Path, before: str = "", after: str = "") -> None:
    """Writes the file system `quarry` with `after` in place of `before`."""
    for name, text in (("facts", FACTS), ("operations", OPERATIONS)):
        written(folder, f"filesystems/quarry/{name}.py", text.replace(before, after, 1))
    assert not before or before in FACTS + OPERATIONS


def test_a_file_system_may_import_its_own_files_relatively(plugins):
    quarry(plugins)
    assert discover.file_system("quarry").title == "Quarry: chunks behind a catalog"


def test_bytes_that_no_message_carries_are_noted(plugins):
    quarry(plugins)
    found = member_check.check_all()
    (note,) = member_check.notes(found)
    assert "no message of read carries the file's bytes, although pit may be" in note
    assert [one.problem for one in found if one.name == "quarry"] == [""]
    predicted = command.dfslab("predict", written(plugins, "s.toml", SCENARIO), cwd=plugins)
    assert "no message of read carries the file's bytes" in " ".join(predicted.stdout.split())


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_system_is_named_with_its_file_and_the_reason(plugins, case):
    before, after, stated = WRONG[case]
    quarry(plugins, before, after)
    with pytest.raises(discover.DiscoveryError, match=stated) as raised:
        discover.file_system("quarry")
    assert str(raised.value).startswith(str(plugins / "filesystems" / "quarry"))
    assert "\n" not in str(raised.value)


def test_what_check_returns_must_be_pairs(plugins):
    quarry(plugins, "return []", 'return ["no"]')
    scenario = read(written(plugins, "wrong.toml", SCENARIO))
    with pytest.raises(
        discover.DiscoveryError, match=r"facts\.py:18: check returns \['no'\], must"
    ):
        check(scenario)


READER = '''"""Reads results of quarrybench."""
from dfslab.imports.tool_report import ResultReader, ToolMeasurement, ToolReport

TITLE = "quarrybench"
HEAD = b"quarrybench v1"


def read(text):
    measured = ToolMeasurement("qb", "read", 1.0, latency_s={"mean": 1.0})
    return ToolReport("quarrybench", (measured,))


READER = ResultReader(TITLE, lambda head: head.startswith(HEAD), read)
'''


@pytest.mark.parametrize(
    ("before", "after", "stated"),
    [
        ('b"quarry', '"quarry', r"quarrybench\.py:13: TypeError: startswith"),
        ('{"mean"', '{"s_mean"', r"quarrybench\.py:9: latency_s: key 's_mean' .* mean\?"),
        ('{"mean": 1.0}', '{}["a"]', r"quarrybench\.py:9: KeyError: 'a'"),
        (
            'return ToolReport("quarrybench", (measured,))',
            "return 1",
            r"quarrybench\.py:8: read returns int, must return",
        ),
    ],
)
def test_a_wrong_reader_of_results_is_named_on_one_line(plugins, before, after, stated):
    """The command prints one line and exits with the code for wrong input, 2."""
    assert before in READER
    written(plugins, "imports/results/quarrybench.py", READER.replace(before, after, 1))
    results = written(plugins, "qb.txt", "quarrybench v1\n")
    answer = command.dfslab("import", results, "--out", plugins / "runs")
    assert answer.returncode == 2
    assert re.search(stated, answer.stderr), answer.stderr
    assert len(answer.stderr.splitlines()) == 1


RULE = '''"""A rule."""
from dfslab.studies.checks.rule import Rule

NAMES = ("quarry_rule",)


def make(name):
    return Rule(name, "A reason.", "A remedy.", _judge)


def _judge(evidence):
    return None
'''


@pytest.mark.parametrize(
    ("before", "after", "stated"),
    [
        ("return None", "return True", "rule.py:11: rule quarry_rule: judge returns True, must"),
        ("Rule(name", 'Rule("other"', "rule.py: makes no rule quarry_rule"),
        ('("quarry_rule",)', '("quarry_rule")', "rule.py: NAMES must be a tuple of names"),
    ],
)
def test_a_wrong_rule_is_named(plugins, before, after, stated):
    written(plugins, "studies/checks/rules/quarry_rule.py", RULE.replace(before, after, 1))
    with pytest.raises(discover.DiscoveryError, match=re.escape(stated)):
        judged([Evidence()])


STUDY = '''"""A study."""
from dfslab.documents.table import Table, heads, words
from dfslab.studies.contract import Needs, Study, StudyResult

NAMES = ("quarry_study",)


class Own(StudyResult):
    """Nothing."""

    study = "quarry_study"

    def tables(self, run):
        return []


class OwnStudy(Study[Own]):
    """Finds nothing."""

    name = "quarry_study"
    result = Own
    needs = Needs(results=True)

    def run(self, run, progress):
        return Own()


def make(name):
    return OwnStudy()
'''
LOCAL = """
schema = 1
name = "local"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "sequential_read"
data_per_client = "1 MiB"
[run]
repetitions = 1
methods = ["measure"]
"""


@pytest.mark.parametrize(
    ("before", "after", "stated"),
    [
        ('    name = "quarry_study"\n', "", "OwnStudy has the name '', must have 'quarry_study'"),
        ("result = Own", "result = int", "OwnStudy must have a result, the class of its results"),
        ('    study = "quarry_study"\n', "", "has results of the study ''; Own.study must be"),
        ("Needs(results=True)", "True", "OwnStudy has needs = True, must be Needs(...)"),
        ("needs =", 'order = "x"\n    needs =', "OwnStudy has order = 'x', must be an integer"),
        ("needs =", 'stage = "x"\n    needs =', "OwnStudy has a stage that 'x' is unknown"),
        ("(self, run):", "(self, run:", "quarry_study.py:13: SyntaxError"),
    ],
)
def test_a_wrong_study_is_refused_before_anything_is_measured(plugins, before, after, stated):
    assert before in STUDY
    path = written(plugins, "studies/quarry_study.py", STUDY.replace(before, after, 1))
    scenario = read(written(plugins, "local.toml", LOCAL))
    with pytest.raises(discover.DiscoveryError, match=re.escape(stated)) as raised:
        Laboratory().plan(scenario)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize(
    ("before", "after", "stated"),
    [
        ("return Own()", 'return {}["key"]', ":25: KeyError: 'key'"),
        ("return Own()", "return 1", ": run returns int, must return Own or None"),
        ("return []", "return [1 / 0]", ":14: ZeroDivisionError: division by zero"),
        ("return []", "return [1]", ": tables returns int, must return tables"),
    ],
)
def test_a_study_that_fails_costs_no_other_finding(plugins, before, after, stated):
    """The run has its measurements, the other studies' findings and its page. The notes of the run
    name the study that failed, with its file and line."""
    path = written(plugins, "studies/quarry_study.py", STUDY.replace(before, after, 1))
    scenario = written(plugins, "local.toml", LOCAL)
    answer = command.dfslab("run", scenario, "--out", plugins / "runs", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    reason = f"the study quarry_study failed: {path}{stated}"
    assert reason in found["notes"]
    assert found["results"]
    assert found["check"]["rules"] > 30
    assert Path(found["page"]).exists()


def test_an_error_of_the_package_is_not_blamed_on_a_member(plugins, monkeypatch):
    def fail(**_):
        raise KeyError("our own")

    monkeypatch.setattr(root, "app", fail)
    with pytest.raises(KeyError):
        root.main()
    assert contract.failure(contract.find("check"), KeyError("our own")) is None


def test_the_readers_of_the_package_are_not_changed_by_a_wrong_one(plugins):
    written(plugins, "imports/results/quarrybench.py", READER)
    assert tool_report.recognised(b"quarrybench v1") == ["quarrybench"]
