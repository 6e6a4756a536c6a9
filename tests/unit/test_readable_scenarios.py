"""Tests that scenarios are printed in units that people read, and can be read back."""

from __future__ import annotations

import pytest
from dfslab.spec import units
from dfslab.spec.files import readable
from dfslab.spec.scenario import read
from support import synthetic


@pytest.mark.parametrize(
    ("given", "rounded", "unrounded"),
    [
        ("1452194563.5208616 B/s", "1.452 GB/s", "1.45219456352086 GB/s"),
        ("62914560.0 B/s", "62.91 MB/s", "62.91456 MB/s"),
        ("9.999999999999999e-05 s", "100 us", "100 us"),
        ("0.0 1/s", "0 1/s", "0 1/s"),
        ("0.0 s", "0 s", "0 s"),
        ("2500000000.0 Hz", "2.5 GHz", "2.5 GHz"),
        ("24684096 KiB", "23.54 GiB", "24684096 KiB"),
        ("64 KiB", "64 KiB", "64 KiB"),
        ("1000000.0 1/s", "1e+06 1/s", "1000000 1/s"),
    ],
)
def test_a_quantity_has_few_digits_and_a_unit_of_its_size(given, rounded, unrounded):
    assert readable.rounded(f'key = "{given}"\n') == f'key = "{rounded}"\n'
    assert readable.unrounded(f'key = "{given}"\n') == f'key = "{unrounded}"\n'
    unit = "B" if given.endswith("iB") else given.split()[1]
    assert units.parse(rounded, unit) == pytest.approx(units.parse(given, unit), rel=1e-3)
    assert units.parse(unrounded, unit) == pytest.approx(units.parse(given, unit), rel=1e-12)


def test_a_printed_scenario_is_read_back(tmp_path):
    given = synthetic.scenario()
    path = tmp_path / "printed.toml"
    path.write_text(readable.unrounded(given.toml()))
    assert "0.0 s" not in path.read_text()
    assert [one.labels for one in read(path).points()] == [one.labels for one in given.points()]
