"""Tests of the check of a release. The check compares two outputs of a command, and ignores some
differences. Further tests check that the recorded outputs fit a terminal of 80 columns."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest
from support.command import dfslab

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "release"
RUN = """\
            Measured, means of 2 runs
┏━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━┳━━━━━━━━━━━┓
┃ configuration ┃ transfers/s ┃     ± ┃   bytes/s ┃
┡━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━┩
│ read, 4 KiB,  │     787,529 │ ×÷5.3 │ 3.23 GB/s │
│ 1 client      │             │       │           │
│ randwrite     │     417,913 │   33% │ 1.71 GB/s │
└───────────────┴─────────────┴───────┴───────────┘
       ±: wider side of the 90 % interval.
                     Figures that are wrong or in doubt
┏━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃ rule             ┃ contradiction           ┃
┡━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━┩
│ processor_shared │ other programs used 68% │
└──────────────────┴─────────────────────────┘
processor_shared: The load may have waited for a processor.
Measured: highest 787,529 reads/s (read), 417,913 writes/s (randwrite) and 3.23
  GB/s (read). Meanwhile other programs used 71% of this machine's processors.
Inconclusive: repeats of one configuration differ by 22% (median standard
  deviation). Repeat on a quiet machine.
run: runs/data/20261126T130138.690211Z
"""
QUIET = """\
              Measured, means of 2 runs
┏━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━┳━━━━━━━━━━┓
┃ configuration         ┃ transfers/s ┃  ± ┃  bytes/s ┃
┡━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━╇━━━━━━━━━━┩
│ read, 4 KiB, 1 client │         9.1 │ 3% │ 902 kB/s │
│ randwrite             │           – │ 1% │  71 MB/s │
└───────────────────────┴─────────────┴────┴──────────┘
±: wider side of the 90 %
interval.
Measured: highest 9.1 reads/s (read), 7 writes/s (read, 4 KiB) and 71 MB/s
  (randwrite).
run: runs/other/20271126T130138.690211Z
"""


@pytest.fixture(scope="module")
def scripts():
    """Makes the modules of the folder `scripts` importable, and returns a function that imports one
    of them by name."""
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def reduced(scripts):
    return scripts("release_output").reduced


@pytest.fixture(scope="module")
def check(scripts):
    return scripts("release_check")


def test_a_quiet_and_a_busy_machine_print_the_same_apart_from_numbers(reduced):
    """The check ignores five differences between two outputs: figures, widths of columns, wrapped
    cells, disturbances of the measurements, and the name of the run's folder."""
    assert reduced(RUN) == reduced(QUIET)
    assert reduced(RUN).splitlines() == [
        "Measured, means of # runs",
        "configuration | transfers/s | ± | bytes/s",
        "read, 4 KiB, 1 client | # | # | #",
        "randwrite | # | # | #",
        "±: wider side of the # interval.",
        "Measured: highest # reads/s (…), # writes/s (…) and # (…).",
        "run: runs/RUN",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("│ randwrite             │           – │ 1% │  71 MB/s │\n", ""),
        ("randwrite  ", "randread   "),
        ("4 KiB, 1 client", "8 KiB, 1 client"),
        ("transfers/s", "reads/s    "),
        ("9.1 reads/s", "9.1 writes/s"),
        ("Measured: highest", "Observed: highest"),
        ("run: runs", "page: runs"),
        ("902 kB/s", "fast    "),
        ("run: runs", "A new sentence.\nrun: runs"),
    ],
)
def test_another_row_column_label_or_sentence_is_a_difference(reduced, old, new):
    assert old in QUIET
    assert reduced(QUIET.replace(old, new)) != reduced(QUIET)


def test_rows_about_the_machine_do_not_count(reduced):
    row = "│ this machine │ load 6.0 on 2 cores: │ wait │\n│ │ busy │ or raise │\n"
    other = "│ this machine │ quiet │ │\n"
    assert reduced(row) == reduced(other) == "this machine | depends on the machine\n"


def test_a_method_that_is_the_best_by_chance_is_no_difference(reduced):
    line = "regression: the best of 5 methods; --wide has all."
    assert reduced(line) == reduced(line.replace("regression", "sequence"))


def test_a_line_that_is_wider_than_the_terminal_is_a_fault(check):
    one = check.Try(("doctor",), ("works",))
    assert check.fault_of(one, "works\n" + "x" * 80) == ""
    assert "wider than 80 columns" in check.fault_of(one, "works\n" + "x" * 81)
    assert check.fault_of(one, "works\npage: " + "x" * 81) == ""
    assert "lacks" in check.fault_of(one, "nothing")


def test_processor_seconds_after_the_measurements_are_added_up(check):
    line = "dfslab: processor seconds: loading 31.3, fitting 6.2, cross-validating 2.2, page 0.7"
    assert check.page_s(f"a note\n{line}\n") == pytest.approx(9.1)
    with pytest.raises(AssertionError):
        check.page_s("a note\n")


def test_a_wheel_for_newer_systems_is_refused(check):
    name = "dfslab-0.1.0-cp311-abi3-{}_x86_64.whl"
    check.check_platform(Path(name.format("manylinux2014_x86_64.manylinux_2_17")))
    with pytest.raises(SystemExit, match="manylinux2014"):
        check.check_platform(Path(name.format("manylinux_2_36")))


def test_every_command_that_a_newcomer_needs_is_tried_and_recorded(check):
    tries = [*check.BASE, *check.WITH_EXTRAS]
    recorded = {one.golden: one for one in tries if one.golden}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(recorded)
    begun = {" ".join(one.words[:2]) for one in recorded.values()}
    assert begun == {"doctor", "measure data", "run quickstart", "trace report"}


def test_a_recorded_output_that_differs_ends_the_check(check, monkeypatch, tmp_path):
    monkeypatch.setattr(check, "GOLDEN", tmp_path)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    one = check.Try(("measure",), (), golden="measure")
    check.compare(one, RUN, record=True)
    check.compare(one, QUIET, record=False)
    with pytest.raises(SystemExit, match="randread"):
        check.compare(one, QUIET.replace("randwrite  ", "randread   "), record=False)


@pytest.mark.parametrize("golden", ["measure", "trace-report"])
def test_the_commands_of_this_checkout_print_what_is_recorded(check, golden, tmp_path):
    """Some commands of the release check need no empty environment. These commands print the
    recorded output, and no line of the output is wider than 80 columns."""
    (one,) = [one for one in (*check.BASE, *check.WITH_EXTRAS) if one.golden == golden]
    (tmp_path / "data").mkdir()
    shutil.copy(check.TRACE, tmp_path / "write.otlp.json")
    answer = dfslab(*one.words, cwd=tmp_path, env={"COLUMNS": str(check.COLUMNS)})
    assert answer.returncode == 0, answer.stderr
    assert check.fault_of(one, answer.stdout) == ""
    printed = answer.stdout
    if golden == "measure":
        # The output was recorded in an environment without the extra `page`, so the line with the
        # path of the page is left out.
        lines = printed.splitlines(keepends=True)
        printed = "".join(line for line in lines if not line.startswith("page: "))
    check.compare(one, printed, record=False)
