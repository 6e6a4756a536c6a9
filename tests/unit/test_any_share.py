"""Tests of the check that limits the use of the type Any. The check computes the share of
expressions in a folder that have this type. The check fails if the share increases."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORT = """
                 Name   Anys    Exprs   Coverage
------------------------------------------------
        dfslab.arrays      0       10    100.00%
   dfslab.spec.design      3      100     97.00%
dfslab.spec.steps.one      7      300     97.67%
       dfslab.nets.a       20      90     77.78%
------------------------------------------------
                Total     30      500     94.00%
"""


@pytest.fixture(scope="module")
def share():
    spec = importlib.util.spec_from_file_location("any_share", ROOT / "scripts" / "any_share.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_modules_are_counted_by_room_and_the_worst_comes_first(share):
    rooms = share.by_room(share.rows(REPORT))
    assert [(one.room, one.anys, one.expressions) for one in rooms] == [
        ("nets", 20, 90),
        ("spec", 10, 400),
        ("dfslab", 0, 10),
    ]


@pytest.mark.parametrize(
    ("percent_max", "is_within", "text"),
    [(5.99, False, "at most 5.99 %"), (6.0, True, "at most 6.0 %)"), (7.0, True, "lowered to 6.0")],
)
def test_a_share_above_the_limit_is_refused(share, percent_max, is_within, text):
    found, sentence = share.verdict(share.by_room(share.rows(REPORT)), percent_max)
    assert found is is_within
    assert text in sentence


def test_a_report_in_another_form_is_no_share_of_zero(share):
    with pytest.raises(ValueError, match="names no module"):
        share.by_room(share.rows("nothing of the kind"))


def test_the_limit_is_a_share(share):
    assert 0 < share.limit(ROOT / "pyproject.toml") < 10
