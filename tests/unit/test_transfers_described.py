"""Tests of the prediction of a run of `dfslab measure DIRECTORY`. The run is either predicted from
a description, or the prediction is refused with a one-line message."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dfslab.instruments.discovery import directory
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.studies.decisions import measured_place
from dfslab.studies.decisions.measured_place import check_is_described


@pytest.fixture
def scenario(tmp_path):
    wanted = directory.Transfers(
        block_sizes="4k,1m", modes="read,randwrite", clients="1", size="8m"
    )
    return directory.scenario(tmp_path, wanted)


def test_transfers_are_predicted_transfer_by_transfer(scenario):
    modelled = scenario.with_methods(["sequence"])
    rates = {}
    for point in check(modelled):
        found = situation_of(point.scenario)
        own = point.scenario.workload.parameters
        size = 4096 if own["transfer_size"] == "4 KiB" else 2**20
        assert found.environment["file_size"] == size
        # The run has just written the files and they fit into memory, so all reads are page-cache
        # hits.
        assert found.environment["kept"] == 1.0
        assert found.written_back == 0.0
        rates[own["mode"], size] = found.predict(found.constants).rate_per_s
    for mode in ("read", "randwrite"):
        assert rates[mode, 4096] > 5 * rates[mode, 2**20]


def test_a_mount_that_was_measured_as_a_directory_is_refused_with_what_to_do(
    scenario, tmp_path, monkeypatch
):
    run = tmp_path / "run"
    run.mkdir()
    (run / "scenario.toml").write_text(scenario.toml())
    check_is_described(run)
    mounted = SimpleNamespace(file_system="moosefs")
    monkeypatch.setattr(measured_place, "existing", lambda place: mounted)
    with pytest.raises(InputError, match=f"it is on MooseFS: `dfslab init {tmp_path}`"):
        check_is_described(run)
    # The function checks only run folders. If it gets the path of a scenario file, it checks
    # nothing, so there is no error.
    check_is_described(run / "scenario.toml")
