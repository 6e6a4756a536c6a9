"""Tests of sizes that are written without a unit. Such a number counts as bytes. The number is
refused if it is so small that the user probably left out a unit."""

from __future__ import annotations

import pytest
from dfslab.documents.evidence import Work
from dfslab.spec.check import check
from dfslab.spec.environment import number
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.spec.systems.parameters import Parameter
from dfslab.spec.units import LEAST_BARE_BYTES
from support.command import dfslab

TEXT = """schema = 1
name = "sizes"
[[deployment.node]]
name = "machine"
roles = { client = 1, storage = 1 }
[file_system]
name = "local"
[workload]
name = "sequential_read"
file_size = "1 MiB"
transfer_size = "64 KiB"
[run]
methods = ["sequence"]
"""


@pytest.fixture
def scenario(tmp_path):
    """Provides the path of a legal scenario."""
    path = tmp_path / "sizes.toml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    "key",
    [
        "workload.data_per_client",
        "workload.file_size",
        "workload.transfer_size",
        "deployment.node.machine.memory",
    ],
)
def test_a_small_number_without_a_unit_is_refused_with_clear_spellings(scenario, key):
    done = dfslab("predict", scenario, "--set", f"{key}=16")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f'{key} = 16: needs a unit: write "16 MiB", "16 KiB" or "16 B"' in line


def test_a_small_number_in_a_file_and_in_a_sweep_is_refused(scenario):
    scenario.write_text(TEXT.replace('file_size = "1 MiB"', "file_size = 64"))
    done = dfslab("predict", scenario)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert 'sizes.toml: workload.file_size = 64: needs a unit: write "64 MiB"' in done.stderr
    scenario.write_text(TEXT + '[[sweep]]\n"workload.file_size" = [4, 8]\n')
    assert (
        'workload.file_size = 4: needs a unit: write "4 MiB"' in dfslab("predict", scenario).stderr
    )


def test_a_parameter_of_a_file_system_is_no_exception():
    block = Parameter("block_size", "Bytes of a block", "B", "filesystem", 2.0**27)
    with pytest.raises(InputError, match='file_system.block_size = 128: needs a unit: write "128'):
        number(block, 128)
    assert number(block, "128 MiB") == 2**27
    assert number(block, 2**27) == 2**27


@pytest.mark.parametrize("value", [LEAST_BARE_BYTES, 4096, 1_048_576])
def test_numbers_that_may_be_bytes_stay_legal(scenario, value):
    scenario.write_text(TEXT.replace('"64 KiB"', f"{value}"))
    (point,) = check(read(scenario))
    assert point.scenario.workload.parameters["transfer_size"] == value


def test_zero_bytes_need_no_unit(scenario):
    scenario.write_text(TEXT.replace("sequential_read", "metadata").replace('"1 MiB"', "0"))
    assert check(read(scenario))


def test_bytes_that_a_program_counted_may_be_few():
    assert Work(operation_size=16, bytes_moved=48).bytes_moved == 48


def test_fewer_bytes_than_a_transfer_are_refused(scenario):
    text = TEXT.replace("[run]", 'data_per_client = "16 B"\n[run]')
    scenario.write_text(text)
    with pytest.raises(InputError, match="is less than one transfer, 64 KiB; give at least"):
        check(read(scenario))
    scenario.write_text(text.replace("[run]", "operations_per_client = 3\n[run]"))
    assert check(read(scenario))
    scenario.write_text(text.replace("16 B", "64 KiB"))
    assert check(read(scenario))
