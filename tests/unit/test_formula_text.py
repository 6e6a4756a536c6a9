"""Tests the printed formulas of `dfslab show filesystem NAME --as formula`."""

from __future__ import annotations

from functools import partial

import pytest
from dfslab import discover
from dfslab.report.diagrams.formula_text import Names, broken, formulas, rewritten
from dfslab.spec.steps.expression import Condition, Expr

SYSTEMS = list(discover.members(discover.FILE_SYSTEMS))
LONGEST = 160


@pytest.mark.heavy
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_printed_line_is_longer_than_the_limit(name):
    lines = formulas(discover.file_system(name)).splitlines()
    assert [line for line in lines if len(line) > LONGEST] == []


@pytest.mark.parametrize("name", SYSTEMS)
def test_printed_names_and_their_definitions_make_the_original_expressions(name):
    system = discover.file_system(name)
    for operation, tree in system.operations.items():
        names = Names(tree, {one.key for one in system.parameters})
        definitions = names.definitions()
        restored = rewritten(
            rewritten(tree, names.printed), partial(_restored, definitions=definitions)
        )
        assert restored == rewritten(tree, partial(_restored, definitions={})), operation


def _restored(value, definitions):
    """Returns the expression `value` with its printed names replaced by their definitions.
    `definitions` maps each name to its definition. The operation `named` is replaced by its
    operand. If a name stands for a condition, the comparison `name > 0` is replaced by the
    condition."""
    if not isinstance(value, Expr) or value.is_leaf:
        found = definitions.get(str(value))
        return value if found is None else _restored(found, definitions)
    if value.name == "named":
        return _restored(value.operands[0], definitions)
    if value.name == "gt" and isinstance(definitions.get(str(value.operands[0])), Condition):
        return _restored(definitions[str(value.operands[0])], definitions)
    return type(value)(value.name, *(_restored(one, definitions) for one in value.operands))


def test_a_named_condition_is_printed_by_its_name_and_defined_once():
    text = formulas(discover.file_system("glusterfs"), ["read"])
    lines = text.splitlines()
    defined = [line for line in lines if line.strip().startswith("content_in_lookup = ")]
    assert len(defined) == 1
    assert "and quick_read" in defined[0]
    assert "T_read_2*[content_in_lookup]" in text
    assert "[not content_in_lookup]" in text


def test_a_name_is_defined_only_if_the_operation_mentions_it():
    text = formulas(discover.file_system("glusterfs"), ["delete"])
    assert "content_in_lookup = " not in text


def test_a_long_line_is_broken_before_operators_of_the_outermost_sum():
    line = "    T_x = " + " + ".join(f"T_{number}*(a + b)" for number in range(12))
    parts = broken(line, width=60)
    assert all(len(part) <= 60 for part in parts)
    assert all(part.strip().startswith("+ T_") for part in parts[1:])
    assert " ".join(part.strip() for part in parts) == line.strip()


def test_a_line_without_a_place_to_break_is_kept():
    line = "T_x = " + "a" * 200
    assert broken(line, width=60) == [line]
