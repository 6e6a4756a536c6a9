"""Tests that hostile inputs are refused with a one-line message. The inputs are numbers with
thousands of digits, foreign digits, units without a number, over-long fields of CSV tables, and
keys with thousands of levels."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dfslab.cli.quick.doctor import one_line
from dfslab.cli.shared import checked_with
from dfslab.spec import units
from dfslab.spec.changes.change_language import parse_change
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from support.command import dfslab
from support.scenarios import local_writes

DIGITS = "9" * 5000
SCENARIO = local_writes("hostile")


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "٣", DIGITS, " 1"])
def test_a_text_that_is_no_short_number_has_no_whole_number(text: str):
    assert units.whole_number(text) is None


def test_short_numbers_are_read():
    assert [units.whole_number(text) for text in ("0", "7", "9" * 18)] == [0, 7, 10**18 - 1]


@pytest.mark.parametrize("text", ["MiB", "GB/s", "s", "/s", "", "+ s"])
@pytest.mark.parametrize("unit", ["B", "s", "B/s", "1/s"])
def test_a_unit_alone_is_no_quantity(text: str, unit: str):
    with pytest.raises(ValueError, match="quantity like"):
        units.parse(text, unit)


@pytest.mark.parametrize("text", ["1 GB/s", ".5 GB/s", " 1e9 B/s", "(1 + 1) GB/s", "1/2 GB/s"])
def test_quantities_begin_with_a_number(text: str):
    assert units.parse(text, "B/s") > 0


@pytest.mark.parametrize(
    "words",
    [
        ["measure", ".", "--clients", DIGITS],
        ["measure", ".", "--clients", "²"],
        ["compat", "iozone", "-t", DIGITS],
        ["compat", "iozone", "-i", "²"],
        ["compat", "dfs-perf", f"DFS_PERF_WORKSPACE=/x,THREADS_NUM={DIGITS}"],
        ["predict", "glusterfs", "--metadata-server", "hdfs", "--servers", DIGITS],
        ["predict", "hostile.toml", "--set", "a." * 50_000 + "b=1"],
        ["plan", "write >= GB/s", "--file-system", "glusterfs"],
        ["predict", "long.csv"],
        ["fit", "long.csv"],
        ["fit", "long-row.csv"],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_hostile_values_are_refused_in_one_line(tmp_path: Path, words: list[str]):
    (tmp_path / "hostile.toml").write_text(SCENARIO)
    (tmp_path / "long.csv").write_text("a" * 200_000 + ",b\n1,2\n")
    (tmp_path / "long-row.csv").write_text("clients,rate_per_s\n1," + "9" * 200_000 + "\n2,3\n")
    shown = dfslab(*words, cwd=tmp_path)
    assert shown.returncode == 2, shown.stderr
    assert shown.stderr.count("\n") == 1, shown.stderr


@pytest.mark.parametrize("first", ["ISO DATE,LABEL,", "Op-Type,Op-Count,Byte-Count,"])
def test_long_fields_of_other_tools_tables_are_refused(tmp_path: Path, first: str):
    (tmp_path / "table.csv").write_text(f"{first}a\n" + "x" * 200_000 + ",1\n")
    shown = dfslab("import", "table.csv", cwd=tmp_path)
    assert shown.returncode == 2, shown.stderr
    assert shown.stderr.count("\n") == 1, shown.stderr


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("workload.clients", "true", "must be a number, not true or false"),
        ("run.repetitions", "true", "must be a number, not true or false"),
        ("deployment.node.machine.cores", "true", "must be a number, not true or false"),
        ("deployment.node.machine.roles.storage", "true", "must be a number, not true or false"),
        ("deployment.tolerance", "true", "must be a number, not true or false"),
        ("workload.operations_per_client", "true", "must be a number, not true or false"),
        ("workload.clients", "1e999", "must be a finite number"),
        ("run.seed", "1e30", "must be a whole number of fewer digits"),
        ("deployment.node.machine.memory", "1e300", "must be at most 1e+24 B"),
        ("workload.file_size", "1e300 B", "must be at most 1e+24 B"),
    ],
)
def test_a_value_that_is_no_number_of_the_key_is_refused(
    tmp_path: Path, key: str, value: str, allowed: str
):
    path = tmp_path / "hostile.toml"
    path.write_text(SCENARIO)
    with pytest.raises(InputError, match=re.escape(allowed)) as refused:
        checked_with(read(path), [f"{key}={value}"])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["clients +-1", "clients --1", "machine disk +-1 MB/s", "clients true", "clients nan"]
)
def test_a_change_has_one_sign_and_a_number(tmp_path: Path, text: str):
    path = tmp_path / "hostile.toml"
    path.write_text(SCENARIO)
    with pytest.raises(InputError, match="needs|is not"):
        parse_change(text, read(path))


def test_a_swept_key_that_is_set_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "swept.toml"
    path.write_text(SCENARIO + '[[sweep]]\n"workload.file_size" = ["4 KiB", "8 KiB"]\n')
    checked_with(read(path), ["workload.file_size=1 B"])
    words = "--set workload.file_size=1 B replaces the 2 values that the scenario varies"
    assert words in capsys.readouterr().err
    checked_with(read(path), ["workload.clients=1"])
    assert capsys.readouterr().err == ""


def test_a_path_with_a_newline_is_one_line_of_the_doctor():
    assert len(one_line("/mnt/a\nb: files of a run").splitlines()) == 1
