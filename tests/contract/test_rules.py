"""Tests of the requirements that every rule of `dfslab check` meets. Each rule finds one kind of
fault in results of benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dfslab import discover
from dfslab.documents.evidence import Evidence
from dfslab.studies.checks.rule import Rule, rules

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "checking.md"
RULES = {one.name: one for one in rules()}
FOREIGN = '''"""A rule of another laboratory."""

from dfslab.studies.checks.rule import Rule

NAMES = ("round_number",)


def make(name):
    def judge(one):
        rate = one.speed.rate
        return f"{rate:.0f} is round" if rate and rate % 1000 == 0 else None

    return Rule(name, "Nobody measures round numbers.", "Print more digits.", judge)
'''


def test_names_are_those_of_discovery():
    assert list(RULES) == list(discover.members(discover.RULES))


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_why_and_what_would_settle_it(name):
    one = RULES[name]
    assert one.reason.endswith(".")
    assert one.settles.endswith(".")
    assert one.name == name


@pytest.mark.parametrize("name", RULES)
def test_what_is_not_known_makes_no_rule_fire(name):
    assert RULES[name].finding(Evidence()) is None


def test_a_rule_of_another_folder_is_found_and_judges(tmp_path, monkeypatch):
    folder = tmp_path / "studies" / "checks" / "rules"
    folder.mkdir(parents=True)
    (folder / "round.py").write_text(FOREIGN)
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    [found] = [one for one in rules() if one.name == "round_number"]
    evidence = Evidence.model_validate({"speed": {"rate": "5000 /s"}})
    assert found.finding(evidence).stated == "5000 is round"


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "lacks make"), ("make = 3\n", "lacks make"), ("make = str.upper\n", "makes no rule x")],
)
def test_a_module_that_makes_no_rule_is_named(text, reason, tmp_path, monkeypatch):
    folder = tmp_path / "studies" / "checks" / "rules"
    folder.mkdir(parents=True)
    name = f"wrong_{len(text)}.py"
    (folder / name).write_text('"""None."""\nNAMES = ("x",)\n' + text)
    monkeypatch.setenv("DFSLAB_PATH", str(tmp_path))
    with pytest.raises(discover.DiscoveryError, match=f"{name}: {reason}"):
        rules()


def test_the_guide_lists_every_rule():
    rows = re.findall(r"^\| (\w+) \| ", GUIDE.read_text(), flags=re.MULTILINE)
    assert sorted(rows[1:]) == sorted(RULES), "the first row is the heading"


def test_rules_are_values():
    assert all(isinstance(one, Rule) for one in RULES.values())
