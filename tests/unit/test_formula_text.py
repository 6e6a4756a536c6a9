"""Tests the printed formulas of `dfslab show filesystem NAME --as formula`."""

from __future__ import annotations

import re
from functools import partial

import pytest
import sympy
from dfslab import discover
from dfslab.models.tree.formula import FormulaPart, formula, shared_formulas
from dfslab.models.tree.invocations import taken_apart
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


@pytest.mark.heavy
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_printed_time_is_defined_once(name):
    """A time that is printed on the right of "=" has one definition below it."""
    system = discover.file_system(name)
    for operation in system.operations:
        text = formulas(system, [operation]).partition("\n\n")[2]
        defined = [
            line.split()[0]
            for line in text.splitlines()
            if line.startswith(("T_", "  T_")) and " = f(" not in line and " = " in line
        ]
        defined += re.findall(r"^  (T_\w+) = f\(", text, re.MULTILINE)
        assert len(defined) == len(set(defined)), operation
        assert set(re.findall(r"\bT_\w+", text)) == set(defined), operation


@pytest.mark.parametrize(
    ("name", "operation"), [("hdfs", "read"), ("hdfs", "write"), ("zfs", "read")]
)
def test_the_formulas_of_invocations_make_the_time_of_the_operation(name, operation):
    """With all symbols of steps replaced, the sum over the invocations has the same value as the
    formula of the whole operation. The client's calls make the same sum."""
    system = discover.file_system(name)
    found, calls = taken_apart(system, operation)
    labels = [one.label for one in found]
    parts = [FormulaPart(one.name, one.tree, one.role) for one in found]
    times, steps = shared_formulas(parts, labels)
    assert not {str(step) for step, _ in steps} & set(labels)
    definitions = dict(steps)
    own = dict(zip(labels, times, strict=True))
    by_call = sum(
        call.count * count * own[one.label] for call in calls for count, one in call.parts
    )
    by_invocation = sum(one.count * own[one.label] for one in found)
    whole = formula(operation, system.operations[operation]).expanded()
    values = _values(whole)
    for total in (by_invocation, by_call):
        while total.free_symbols & definitions.keys():
            total = total.xreplace(definitions)
        assert total.xreplace(values).evalf() == pytest.approx(whole.xreplace(values).evalf())


def _values(expression):
    """Returns a value for each symbol of the expression. All values differ."""
    symbols = sorted(expression.free_symbols, key=str)
    return {one: sympy.Float(3 + 0.37 * place) for place, one in enumerate(symbols)}


def test_calls_are_summed_in_the_order_of_their_execution():
    lines = formulas(discover.file_system("hdfs"), ["write"]).splitlines()
    assert "T_t_write = T_create + T_write + T_close" in lines
    assert "  T_create = T_create_self + T_rpc_create" in lines


def test_large_numbers_are_printed_as_powers_of_ten():
    text = formulas(discover.file_system("hdfs"), ["stat"])
    assert "2.5e9*client_call_cpu" in text
    assert "2500000000" not in text


def test_a_named_condition_is_printed_by_its_name_and_defined_once():
    text = formulas(discover.file_system("glusterfs"), ["read"])
    lines = text.splitlines()
    defined = [line for line in lines if line.strip().startswith("content_in_lookup = ")]
    assert len(defined) == 1
    assert "and quick_read" in text.partition("content_in_lookup = ")[2]
    assert "[content_in_lookup]*T_read_2" in text
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
