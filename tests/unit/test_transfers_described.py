"""Tests of the prediction of a run of `dfslab measure DIRECTORY`. The run is either predicted from
a description, or the prediction is refused with a one-line message."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dfslab.cli import commands_work
from dfslab.cli.shared import checked_with
from dfslab.instruments.discovery import directory
from dfslab.laboratory import Laboratory
from dfslab.models.tree.prediction import situation_of
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.studies.checks.of_results import of_results
from dfslab.studies.checks.rule import judged
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


def test_cold_transfers_end_after_one_pass_over_the_files(tmp_path):
    """A cold run reads each file once. A second pass would be served from memory. The run therefore
    reads at most as many bytes as its files have, however long its time limit is."""
    wanted = directory.Transfers(
        "64k", "read,randread", "1,2", size="2m", time="20 s", cache="cold", repetitions=1
    )
    results = commands_work.measure(Laboratory(), directory.scenario(tmp_path, wanted))
    assert len(results) == 4
    for one in results:
        assert one.complete
        assert one.load.operations["pread"].bytes == 2 * 2**20
        assert sum("one pass over the files" in note for note in one.notes) == 1
    assert not [one for one in judged(of_results(results)) if one.rule == "cold_read_again"]


def test_warm_transfers_go_on_until_the_time_limit(tmp_path):
    wanted = directory.Transfers("64k", "read", "1", size="1m", time="0.2 s", repetitions=1)
    (one,) = commands_work.measure(Laboratory(), directory.scenario(tmp_path, wanted))
    assert one.load.operations["pread"].bytes > 2**20
    assert not [note for note in one.notes if "one pass" in note]


def test_cold_reads_that_wrap_around_are_doubted(tmp_path):
    """A cold run that reads its files several times is reported as doubtful, because only the first
    pass begins with empty caches."""
    wanted = directory.Transfers(
        "64k", "read", "1", size="1m", time="0.5 s", cache="cold", repetitions=1
    )
    found = directory.scenario(tmp_path, wanted)
    changed = checked_with(found, [f"workload.operations_per_client={directory.ENDLESS}"])
    results = commands_work.measure(Laboratory(), changed)
    (finding,) = (one for one in judged(of_results(results)) if one.rule == "cold_read_again")
    assert finding.is_doubt
    assert "times in a run that only began with empty caches" in finding.stated


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
    # The function checks only run folders. For the path of a scenario file, the function checks
    # nothing and raises no error.
    check_is_described(run / "scenario.toml")
