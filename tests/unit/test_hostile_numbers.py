"""Tests that numbers with thousands of digits, foreign digits, units without a number, over-long
fields of CSV tables and keys with thousands of levels are refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from dfslab.spec import units
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
