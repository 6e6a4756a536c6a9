"""Tests that every numeric constant of models, of studies and of the other places that compute
statistics is listed in verification/constants.toml with its origin."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from verification.sensitivity import constants
from verification.sensitivity.constants import (
    Constant,
    by_name,
    core_table,
    in_core,
    in_sources,
    table,
)

KINDS = ("derived", "cited", "estimated", "choice", "bound", "definition")
ROOT = Path(__file__).parents[2]
CHOICE = Constant("models.petri", ("REPLICATIONS",), "choice", "", ("nets",))


def test_every_constant_has_a_row_and_every_row_its_constant():
    missing, gone = in_sources() - set(by_name()), set(by_name()) - in_sources()
    assert not missing, f"not in {constants.TABLE.name}: {sorted(missing)}"
    assert not gone, f"in no module: {sorted(gone)}"


def test_the_check_finds_a_constant_that_is_new_and_one_that_is_gone(tmp_path):
    for place in ("models/mine.py", "spec/steps/mine.py", "method.py", "fleet/mine.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("LEVEL: float = 0.05\nNAMES = ('a',)\n")
    expected = {"models.mine.LEVEL", "spec.steps.mine.LEVEL", "method.LEVEL"}
    assert in_sources(tmp_path) == expected


def test_every_place_with_constants_exists():
    assert [place for place in constants.PLACES if not (constants.SOURCES / place).exists()] == []


def test_every_constant_of_the_core_has_a_row_and_every_row_its_constant():
    listed = {f"{row.module}.{name}" for row in core_table() for name in row.names}
    missing, gone = in_core() - listed, listed - in_core()
    assert not missing, f"not in {constants.TABLE.name}: {sorted(missing)}"
    assert not gone, f"in no source file: {sorted(gone)}"


def test_the_check_finds_a_new_constant_of_the_core(tmp_path):
    for name in ("trace/src/replay", "load/src"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "mine.rs").write_text(
            "// const OLD: f64 = 1.0;\npub(super) const NEW: f64 = 0.3;\nconst MOST: usize = 4;\n"
            "fn take() {\n    const RANGE: f64 = 9.5;\n}\n"
        )
    found = {"core/trace/src/replay/mine.rs.NEW", "core/trace/src/replay/mine.rs.RANGE"}
    found |= {"core/load/src/mine.rs.NEW", "core/load/src/mine.rs.RANGE"}
    assert in_core(tmp_path) == found | {"core/trace/src/replay/mine.rs.MOST"}


def test_functions_contain_no_numbers_that_should_be_constants():
    """The only unnamed numbers within functions of PLACES and of the replay are neutral
    elements (0 and 1), factors of one half or two, units, and guards against division by zero.
    Every other number is a named constant."""
    found = [
        f"{path.relative_to(constants.SOURCES)}:{line}: {value}"
        for path in constants.source_files()
        for line, value in constants.unnamed_in(path.read_text(encoding="utf-8"))
    ]
    for path, text in constants.core_sources().items():
        if constants.CORE_MODEL in path:
            rest = re.sub(r".*const .*", "", text)
            numbers = map(float, constants.RUST_NUMBER.findall(rest))
            found += [f"{path}: {one}" for one in numbers if one not in constants.PLAIN]
    assert not found, found


def test_the_check_finds_a_number_within_a_function():
    text = "A = 0.3\ndef f(x):\n    return 0.5 * min(x, 0.999) / max(1e-12, 1e9)\n"
    assert list(constants.unnamed_in(text)) == [(3, 0.999)]


def test_what_counts_as_a_constant():
    text = "A, B = 1, 2.0\nC = f(3)\nD = True\nE = 'x'\n_F = (1, (2, 3))\ndef g():\n    H = 1\n"
    assert set(constants.names_of(text)) == {"A", "B", "C", "_F"}


def test_each_row_has_one_place_a_kind_and_an_origin():
    rows = (*table(), *core_table())
    names = [f"{row.module}.{name}" for row in rows for name in row.names]
    assert len(names) == len(set(names))
    for row in rows:
        assert row.kind in KINDS, row
        assert row.origin.endswith("."), row
        assert row.kind == "choice" or not row.reaches, row


def test_a_choice_is_varied_about_the_value_that_means_nothing():
    ratio = Constant("m", ("A",), "choice", "", about=1.0)
    share = Constant("m", ("A",), "choice", "", most=1.0)
    assert CHOICE.varied(4, 0.5) == 2
    assert CHOICE.varied(1, 0.5) == 1
    assert CHOICE.varied((1.0, 3.0), 2.0) == (2.0, 6.0)
    assert CHOICE.varied(Fraction(2, 3), 0.5) == Fraction(1, 3)
    assert ratio.varied(1.5, 2.0) == 2.0
    assert ratio.varied(0.9, 2.0) == pytest.approx(0.8)
    assert share.varied((0.0, 0.5, 1.0), 2.0) == (0.0, 1.0, 1.0)


def test_a_choice_that_reaches_nothing_says_why():
    """A constant of the kind "choice" may affect no experiment. The text of its origin then has a
    second part after "." or ";". The second part says why no recording can confirm the choice."""
    for row in (*table(), *core_table()):
        if row.kind == "choice" and not row.reaches:
            assert re.search(r"[.;] \S", row.origin), row


@pytest.mark.parametrize("name", sorted(n for n, row in by_name().items() if row.kind == "choice"))
def test_every_choice_changes_when_it_is_varied(name):
    value, row = constants.value_of(name), by_name()[name]
    assert any(row.varied(value, factor) != value for factor in (0.5, 2.0))


def in_a_new_process(program: str) -> None:
    """Runs a program in a new process, because a constant must be varied before its module is
    imported."""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_constant_is_varied_where_it_is_imported_and_not_where_another_has_its_name():
    in_a_new_process("""
from verification.sensitivity import constants
constants.vary("studies.traces.gain.LEAST_CALLS", 2.0)
import dfslab.studies.traces.gain as gain, dfslab.studies.traces.cohort as cohort
assert gain.LEAST_CALLS == 2 * cohort.LEAST_CALLS
""")
    in_a_new_process("""
from verification.sensitivity import constants
constants.vary("studies.server_law.BOUND_S", 2.0)
import dfslab.report.sections.server_law as section, dfslab.studies.server_law as law
assert section.BOUND_S == law.BOUND_S == 2.0
""")


def test_what_is_computed_from_a_constant_at_import_is_varied_too():
    """If a constant is varied, three values that are computed from the constant at import vary,
    too: the default of an argument, the default of a field, and another constant."""
    in_a_new_process("""
import inspect
from verification.sensitivity import constants
constants.vary("models.compiled.net_amount.MOST_UNITS", 2.0)
from dfslab.models.compiled import net_amount, net_job, net_tree
units = inspect.signature(net_tree.Trees).parameters["most_units"].default
assert units == net_job.NetJob.most_units == net_amount.MOST_UNITS
""")
    in_a_new_process("""
from verification.sensitivity import constants
constants.vary("studies.expect.hardware_facts.ASSUMED_SD", 2.0)
from dfslab.studies.expect import hardware_facts as facts
assert facts.KNOWN_SD["assumed"] == facts.ASSUMED_SD == 2.0
""")


def test_a_constant_is_not_varied_after_its_module_was_imported():
    importlib.import_module("dfslab.models.petri")
    with pytest.raises(AssertionError, match="is imported already"):
        constants.vary("models.petri.REPLICATIONS", 2.0)


def test_a_module_of_the_table_is_importable():
    for row in table():
        importlib.import_module(f"{constants.PACKAGE}.{row.module}")
