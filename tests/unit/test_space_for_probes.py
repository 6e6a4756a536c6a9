"""Tests that `dfslab expect` and `init` check free space and time before they write anything."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dfslab.instruments.discovery.place import DiscoveredPlace
from dfslab.instruments.discovery.probes import LOCAL_BYTES, OTHER_BYTES
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.expect import grid
from support.command import dfslab


def place(system: str, free_bytes: int) -> DiscoveredPlace:
    return DiscoveredPlace(
        text="/data", system=system, found=SimpleNamespace(free_bytes=free_bytes, type="ext4")
    )


@pytest.mark.parametrize(("system", "needed"), [("local", LOCAL_BYTES), ("nfs", OTHER_BYTES)])
def test_probes_are_refused_if_the_place_has_too_little_space(system, needed):
    place(system, needed).check_space()
    with pytest.raises(InputError, match="PLACE = '/data': has .* free; the probes need") as error:
        place(system, needed - (1 << 20)).check_space()
    assert "MiB for some seconds: free that much" in str(error.value)


def test_the_least_time_is_stated_for_memory_and_disk():
    grid.check_time(16)
    with pytest.raises(InputError, match=r"must be at least 10 s, 16 s if files are on a disk"):
        grid.check_time(3)


def test_the_space_for_the_measurements_is_checked_without_a_plan():
    grid.check_space(None)
    grid.check_space(1 << 30)
    with pytest.raises(InputError, match="has 200 MiB free; 640 MiB are needed"):
        grid.check_space(200 << 20)


def test_the_help_of_init_states_what_is_written():
    shown = " ".join(dfslab("init", "--help").stdout.replace("│", " ").split())
    assert f"up to {LOCAL_BYTES >> 20} MiB on a local disk" in shown


def test_space_bounds_what_all_operations_write():
    scenario = read(ready.files()["glusterfs"]).points()[0].scenario
    unbounded = grid.total_bytes(grid.planned(scenario, 600.0))
    bound = 600 << 20
    assert unbounded > bound
    assert grid.total_bytes(grid.planned(scenario, 600.0, space_bytes=bound)) <= bound
    with pytest.raises(InputError, match="--space = '100 MiB': must be at least"):
        grid.planned(scenario, 600.0, space_bytes=100 << 20)


def test_expect_refuses_too_little_space_before_it_writes(tmp_path):
    ended = dfslab("expect", str(tmp_path), "--space", "1 MB")
    assert ended.returncode == 2
    assert "--space = '976.6 KiB': must be at least 448 MiB" in ended.stderr
    assert not any(tmp_path.iterdir())
