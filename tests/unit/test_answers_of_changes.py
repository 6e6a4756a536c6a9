"""Tests of the answers of `whatif` and `advise`: the configurations that are compared, the stated
assumptions, the marked rows, and the questions that an answer leaves open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dfslab.documents.answers import Sureness
from dfslab.spec.scenario import read
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.gains import WIDE, GainEstimate, gain_of, legend
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.reported.advice_table import explained
from dfslab.studies.decisions.reported.whatif_table import ChangedOperation, most_sentence
from dfslab.studies.decisions.risks import FEWER_COPIES, risk_of
from dfslab.studies.decisions.whatif import whatif
from support.command import dfslab

SCENARIOS = Path(__file__).parents[2] / "scenarios"
NFS = """
schema = 1
name = "warm"
[[deployment.node]]
name = "server"
roles = { server = 1 }
disk = { read_rate = "100 MB/s", write_rate = "100 MB/s" }
adapter = { bandwidth = "10 Gbit/s" }
[[deployment.node]]
name = "client"
roles = { client = 1 }
adapter = { bandwidth = "10 Gbit/s" }
[file_system]
name = "nfs"
[workload]
name = "sequential_read"
file_size = "100 MB"
clients = 2
operations_per_client = 2
[run]
methods = ["sequence"]
"""
COPIES = """
schema = 1
name = "copies"
[[deployment.node]]
name = "server"
count = 6
roles = { brick = 1 }
[[deployment.node]]
name = "client"
roles = { client = 1 }
[file_system]
name = "glusterfs"
copies = 3
[workload]
name = "sequential_write"
file_size = "64 MiB"
operations_per_client = 2
[run]
methods = ["sequence"]
"""


@pytest.fixture
def warm(tmp_path):
    """Provides a scenario in which clients read files from a server's memory."""
    path = tmp_path / "warm.toml"
    path.write_text(NFS)
    return path


@pytest.fixture
def copies(tmp_path):
    """Provides a scenario in which a client writes three copies."""
    path = tmp_path / "copies.toml"
    path.write_text(COPIES)
    return path


def row(change: str, gain: GainEstimate, configuration: str) -> ChangedOperation:
    return ChangedOperation(
        change=change,
        operations=["read"],
        configuration=configuration,
        total=2,
        rate=gain,
        times={},
        before_per_s=1.0,
        after_per_s=gain.gain,
        limit="",
    )


def test_a_disk_without_gain_says_that_the_data_is_assumed_in_memory(warm):
    found = whatif(evidence_of(warm), ["server disk x2"])
    (last,) = found.assumed
    assert found.sentences()[-1] == last
    assert "workload.cache = warm" in last
    assert "with cache = cold: server disk x2: × 2.00" in last
    advised = recommend(evidence_of(warm), "rate", prices_of())
    assert "with cache = cold the limit of read is server.disk" in advised.assumed[0]


def test_no_assumption_is_stated_if_cold_data_is_predicted_too(warm):
    warm.write_text(NFS + '[[sweep]]\n"workload.cache" = ["warm", "cold"]\n')
    assert whatif(evidence_of(warm), ["server disk x2"]).assumed == []
    assert recommend(evidence_of(warm), "rate", prices_of()).assumed == []


def test_changes_are_compared_within_a_configuration():
    twice, high = gain_of(np.array([2.0]), [0.05]), gain_of(np.array([1.9]), [0.05])
    rows = [row("clients x2", twice, "warm"), row("disk x2", high, "cold")]
    assert most_sentence(rows) == (
        "Gains most with high certainty, by configurations: clients x2 in 1 of 2 (up to × 2.00 for "
        "read), disk x2 in 1 of 2 (up to × 1.90 for read)."
    )
    both = [row("clients x2", twice, one) for one in ("warm", "cold")]
    both.append(row("disk x2", high, "cold"))
    assert most_sentence(both) == "Gains most: clients x2, × 2.00 for read."


def test_an_unsure_larger_gain_is_not_called_hardly_anything():
    twice, unsure = gain_of(np.array([2.0]), [0.05]), gain_of(np.array([4.0]), [1.2])
    assert unsure.sureness is Sureness.MEDIUM
    rows = [row("clients x2", twice, "warm"), row("disk x2", unsure, "warm")]
    assert most_sentence(rows).startswith("Gains most with high certainty")


def test_an_interval_without_a_size_is_not_called_a_gain():
    open_size = gain_of(np.array([10.0]), [1.5])
    assert open_size.low < 1
    assert open_size.statement == "cannot tell"
    above = gain_of(np.array([150.0]), [2.0])
    assert above.low > 1
    assert above.judgement.startswith(f"at least × {above.low:.2f} (90 %: ")
    assert above.certain_gain == above.low
    assert WIDE in legend([above])
    assert WIDE not in legend([gain_of(np.array([2.0]), [0.1])])


@pytest.mark.parametrize(("factor", "is_doubted"), [(9, True), (1.02, False)])
def test_a_gain_of_uncertain_hardware_is_not_called_sure(warm, factor, is_doubted):
    text = NFS.replace('name = "sequential_read"', 'name = "sequential_read"\ncache = "cold"')
    warm.write_text(text + f"[deployment.uncertainty]\ndisk = {factor}\n")
    (found,) = whatif(evidence_of(warm), ["server disk x2"]).rows
    assert found.rate.gain == pytest.approx(2, rel=0.05)
    assert found.rate.is_doubted == is_doubted
    assert (found.rate.sureness is Sureness.HIGH) != is_doubted


def test_a_lost_copy_is_marked(copies):
    found = whatif(evidence_of(copies), ["copies 2"])
    assert found.rows[0].risk == FEWER_COPIES
    assert FEWER_COPIES in found.sentences()[0]
    assert f"! {FEWER_COPIES}" in found.table().rows[0][0].text
    scenario = read(copies)
    assert risk_of(scenario, scenario) == ""


def test_a_loss_elsewhere_is_in_the_sentence(copies):
    copies.write_text(COPIES + '[[sweep]]\n"file_system.copies" = [1, 3]\n')
    found = whatif(evidence_of(copies), ["copies 2"])
    assert "It loses for copies 1: × " in found.sentences()[0]


def test_the_old_and_the_new_value_are_named(warm):
    notes = whatif(evidence_of(warm), ["client link 10 GB/s", "latency /2"]).notes
    link, latency = (one for one in notes if " sets " in one)
    assert link.endswith("adapter.bandwidth 1.25 GB/s (10 Gbit/s) → 10 GB/s (80 Gbit/s)")
    assert latency.startswith("latency /2 sets deployment.network.latency ")


def test_two_rows_of_advice_never_set_the_same_values(warm):
    rows = recommend(evidence_of(warm), "rate", prices_of()).rows
    changes = [one.change for one in rows]
    assert not any("client link x2 and server link x2" in one for one in changes)
    assert any("links x2" in one for one in changes)


def test_a_faster_disk_and_more_disks_are_told_apart():
    assert explained("server disk x2") == "server disk x2 (a disk twice as fast)"
    text = "links x2 and machine disks x2"
    assert explained(text) == "links x2 and machine disks x2 (twice as many disks)"


def test_a_faster_link_without_gain_states_that_reads_come_from_memory(tmp_path):
    """Reads from the client's memory use no link. The answer says so, and what the link gains if
    servers are read."""
    text = (SCENARIOS / "glusterfs.toml").read_text()
    for cache, states in (("warm", True), ("cold", False)):
        path = tmp_path / f"{cache}.toml"
        path.write_text(text.replace('cache = "cold"', f'cache = "{cache}"'))
        done = dfslab("whatif", path, "link 25 Gbit/s")
        assert done.returncode == 0, done.stderr
        words = " ".join(done.stdout.split())
        assert ("(workload.cache = warm); with cache = cold: link 25 Gbit/s:" in words) is states


def test_client_nodes_without_clients_change_nothing(tmp_path):
    path = tmp_path / "few.toml"
    text = (SCENARIOS / "hdfs-hosts.toml").read_text()
    for clients, states in ((1, True), (40, False)):
        path.write_text(text.replace("[workload]\n", f"[workload]\nclients = {clients}\n"))
        done = dfslab("whatif", path, "client nodes 20")
        assert done.returncode == 0, done.stderr
        words = " ".join(done.stdout.split())
        assert ("client nodes 20 changes nothing: the load's 1 client has" in words) is states


def test_a_missing_scenario_is_answered_by_a_similar_name():
    done = dfslab("predict", SCENARIOS / "hdfs.tml")
    assert done.returncode == 2
    assert f"no such file; did you mean {SCENARIOS / 'hdfs.toml'}?" in done.stderr
    assert "did you mean" not in dfslab("predict", SCENARIOS / "nothing-alike").stderr
