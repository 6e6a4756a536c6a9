"""Tests of the report of `dfslab doctor` about a machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from dfslab.cli.quick import checkup
from dfslab.cli.quick.checkup import InspectedMachine, findings
from dfslab.extras import EXTRAS
from support.command import dfslab

WHOLE = InspectedMachine(
    is_root=True, has_java=True, has_fuse=True, cores=4, load=0.1, governor="", lacking={}
)


def remedies(machine: InspectedMachine) -> dict[str, str]:
    return {one.about: one.remedy for one in findings(machine) if one.remedy}


def test_nothing_is_to_be_done_on_a_whole_and_quiet_machine():
    assert remedies(WHOLE) == {}
    assert "quiet" in findings(WHOLE)[-1].state


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"is_root": False}, "sudo dfslab testbed up"),
        ({"has_java": False}, "openjdk-17"),
        ({"has_fuse": False}, "fuse"),
        ({"packages": ["iproute2", "tini"]}, "apt-get install iproute2 tini"),
        ({"packages": ["tini"], "is_root": False}, "apt-get install tini"),
        ({"has_namespaces": False}, "--privileged"),
        ({"load": 3.0}, "run.repetitions"),
        ({"governor": "powersave"}, "cpupower"),
        ({"lacking": {"page": "jinja2"}}, "pip install 'dfslab[page]'"),
    ],
)
def test_what_is_missing_has_a_command(change, remedy):
    (reported,) = remedies(replace(WHOLE, **change)).values()
    assert remedy in reported


def test_every_extra_has_a_purpose():
    assert set(checkup.PURPOSES) == set(EXTRAS)


def test_the_command_prints_a_table_of_80_columns(tmp_path):
    answer = dfslab("doctor", env={"COLUMNS": "80", "DFSLAB_STATE": str(tmp_path)})
    assert answer.returncode == 0
    assert "measure a directory" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80
    document = dfslab("doctor", "--json", env={"DFSLAB_STATE": str(tmp_path)}).stdout
    assert {"about", "state", "remedy"} == set(json.loads(document)["findings"][0])
