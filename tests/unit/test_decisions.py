"""Tests of the predicted gains of changes to a file system, and of the advice which change to make.

The tests cover these parts:

- the intervals of the gains, and the cases in which no gain is stated
- the prices of changes
- rows of an answer that are merged
- the two commands that print the answers
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dfslab.documents.answers import Sureness
from dfslab.spec.changes.change import KINDS, Change
from dfslab.spec.changes.change_language import apply, parse_change
from dfslab.spec.files import ready
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.decisions import change_error
from dfslab.studies.decisions.actions import candidates
from dfslab.studies.decisions.change_error import BLIND_SD, ErrorOfChange, recorded_errors
from dfslab.studies.decisions.decision_input import evidence_of
from dfslab.studies.decisions.gains import gain_of, sureness
from dfslab.studies.decisions.intervention_error import errors_for
from dfslab.studies.decisions.prices import prices_of
from dfslab.studies.decisions.recommend import recommend
from dfslab.studies.decisions.whatif import PairedModel, whatif
from support.command import dfslab
from support.recorded import recorded_run

__all__ = ["recorded_run"]
SCENARIOS = Path(__file__).parents[2] / "scenarios"
GIGABIT = """
schema = 1
name = "gigabit"
[[deployment.node]]
name = "server"
count = 3
roles = { brick = 1 }
disk = { read_rate = "500 MB/s", write_rate = "500 MB/s" }
adapter = { bandwidth = "1 Gbit/s" }
[[deployment.node]]
name = "client"
roles = { client = 1 }
adapter = { bandwidth = "1 Gbit/s" }
[file_system]
name = "glusterfs"
copies = 3
[workload]
name = "sequential_write"
file_size = "256 MiB"
transfer_size = "1 MiB"
operations_per_client = 2
[run]
methods = ["sequence"]
"""


@pytest.fixture
def gigabit(tmp_path):
    """Provides a scenario in which a client writes three replicas through a link of 1 Gbit/s."""
    path = tmp_path / "gigabit.toml"
    path.write_text(GIGABIT)
    return path


def test_what_limits_gains_and_another_server_does_not(gigabit):
    found = whatif(evidence_of(gigabit), ["client link x2", "server disk x2", "servers x2"])
    link, disk, servers, both = found.rows
    assert link.rate.gain == pytest.approx(2, rel=0.05)
    assert link.rate.sureness in ("high", "medium")
    assert servers.rate.is_none
    assert disk.rate.is_none
    assert servers.rate.low < 1 < servers.rate.high
    assert both.change.count(" and ") == 2


def test_no_interval_has_a_width_of_zero_over_random_scenarios():
    """The interval of a predicted gain contains the gain and is wider than zero. The test checks
    every legal change of random configurations of six scenarios."""
    random = np.random.default_rng(20261126)
    names = ["glusterfs", "hdfs-hosts", "nfs", "moosefs", "juicefs", "pvfs"]
    for name in names:
        evidence = evidence_of(SCENARIOS / f"{name}.toml")
        model = PairedModel(evidence)
        point = evidence.points[random.integers(len(evidence.points))]
        actions = candidates(point.scenario)
        for place in random.choice(len(actions), 6, replace=False):
            try:
                gain = model.gain(point, actions[place].changes).rate
            except InputError:
                continue
            assert gain.low * 1.005 < gain.gain < gain.high * 0.995, (name, actions[place].text)
            assert gain.sd > 0
            assert 0 < gain.probability < 1


@pytest.mark.parametrize("basis", ["run", "description"])
@pytest.mark.parametrize("operations", ["data", "metadata"])
def test_an_interval_grows_with_the_distance_and_the_gain(basis, operations):
    errors = recorded_errors()
    for kind in KINDS:
        near, far = Change("", {}, kind, 0.2), Change("", {}, kind, 2.0)

        def sd(changes, log_gain):
            return errors.sd(basis, changes, log_gain, errors_for(operations))

        assert sd([near], 0.2) < sd([far], 2.0)
        assert sd([far], 0.0) < sd([far], 2.0)
        assert sd([near, far], 1.0) > sd([near], 0.1)


def test_answers_say_on_which_data_their_intervals_stand(gigabit):
    notes = whatif(evidence_of(gigabit), ["client link x2", "clients x2"]).notes
    (link,) = [one for one in notes if one.startswith("Interval of link: ")]
    assert re.search(r"\d+ carried-out changes of link on 6 file systems \(data operations\)", link)
    assert any(one.startswith("Interval of clients: ") for one in notes)
    advised = recommend(evidence_of(gigabit), "write_throughput", prices_of()).notes
    assert any(one.startswith("Interval of link: ") for one in advised)


def test_the_error_of_a_kind_is_learnt_and_shrunk_towards_the_blind_error():
    random = np.random.default_rng(7)
    for count in (1, 50):
        planted = [
            ErrorOfChange(
                basis="run",
                kind="link",
                recording=str(number % count),
                distance=math.log(2),
                predicted=math.log(2),
                measured=math.log(2) - 0.1 * random.standard_normal(),
            )
            for number in range(2000)
        ]
        learnt = change_error.learnt(planted).of_kind("run", "link").doubling_sd
        expected = math.sqrt((count * 0.1**2 + 2 * BLIND_SD**2) / (count + 2))
        assert learnt == pytest.approx(expected, rel=0.1)
    assert change_error.learnt([]).of_kind("run", "link").doubling_sd == BLIND_SD


def test_the_words_for_how_sure_a_gain_is():
    assert [sureness(p) for p in (0.99, 0.95, 0.9, 0.75, 0.6)] == [
        Sureness.HIGH,
        Sureness.HIGH,
        Sureness.MEDIUM,
        Sureness.LOW,
        Sureness.UNDECIDED,
    ]
    sure, none = gain_of(np.array([2.0]), [0.1]), gain_of(np.array([1.0]), [0.01])
    assert (sure.sureness, none.sureness) == ("high", "high")
    assert none.is_none
    assert not sure.is_none
    assert gain_of(np.array([1.0]), [0.5]).sureness == "cannot tell"


def test_a_gain_stays_within_what_is_possible_but_for_noise():
    free = gain_of(np.array([1.0]), [0.5])
    bounded = gain_of(np.array([1.0]), [0.5], (0.0, math.log(1.5)))
    assert free.low < 0.6 < 0.9 < bounded.low < 1
    assert bounded.high == pytest.approx(1.5 * math.exp(0.05))


def test_the_smallest_set_of_changes_with_the_gain_is_named(gigabit):
    names = ["servers x2", "server disk x2", "client link x2"]
    found = whatif(evidence_of(gigabit), names)
    assert found.sentences()[0].startswith("Gains most: client link x2, ")
    useful = whatif(evidence_of(gigabit), ["server disk x2", "client link x2", "clients x2"])
    assert all(one.parts in (1, 2, 3) for one in useful.rows)
    assert "server disk" not in useful.sentences()[0]


def test_whatif_and_advice_judge_a_change_by_the_same_words(gigabit):
    advice = recommend(evidence_of(gigabit), "write_throughput", prices_of())
    assert advice.spared
    for one in [*advice.rows, *advice.spared]:
        if " and " not in one.change:
            (row,) = whatif(evidence_of(gigabit), [one.change]).rows
            assert row.rate.judgement == one.gain.judgement
    assert all("cannot tell" not in one.gain.judgement for one in advice.spared)


def test_idle_processors_explain_why_more_of_them_do_not_help():
    found = recommend(evidence_of(SCENARIOS / "quickstart.toml"), "rate", prices_of())
    row = next(one for one in found.rows if one.change == "clients x2")
    assert row.limit.endswith("(50 % busy)")
    assert "saturated" in row.next_limit


def test_advice_joins_actions_and_names_what_is_not_worth_its_price(gigabit):
    found = recommend(evidence_of(gigabit), "write_throughput", prices_of())
    # A change that puts data at risk is not merged with other changes into one row.
    assert not any(" and " in row.change for row in found.rows)
    pvfs = Path(__file__).parents[2] / "scenarios" / "pvfs.toml"
    joined = recommend(evidence_of(pvfs), "read_throughput", prices_of())
    assert " and " in max(joined.rows, key=lambda row: row.gain.gain).change
    assert found.rows[0].limit.startswith("client.nic.out")
    assert any("servers" in one.change for one in found.spared)
    assert not any(one.where for one in found.spared), "all writes are one group"
    risky = [row for row in found.rows if row.change == "copies 1"]
    assert risky
    assert "lost" in risky[0].risk


def test_the_best_action_is_the_cheapest_of_about_the_same_gain(gigabit):
    found = recommend(evidence_of(gigabit), "write_throughput", prices_of())
    first = next(one for one in found.rows if one.gain.is_stated and not one.risk)
    dear = first.model_copy(update={"price": first.price + 1000, "change": "dear"})
    gain = first.gain.model_copy(update={"gain": first.gain.gain * 0.9})
    less = first.model_copy(update={"price": 0.0, "change": "less", "gain": gain})
    rows = [dear, first, less]
    (best,) = found.model_copy(update={"rows": rows}).best()
    assert best.change == first.change


def test_more_data_fragments_of_as_many_pieces_are_a_risk(gigabit):
    """A change is marked as a risk if the data then survive fewer failures. Three copies survive
    two failures. Two data fragments with one parity fragment survive only one failure."""
    base = read(gigabit).replace({"file_system.copies": 3})
    risks = {one.text: one.risk for one in candidates(base)}
    assert "fewer failed nodes" in risks["data fragments x2"]
    found = recommend(evidence_of(gigabit), "write_throughput", prices_of())
    assert not any("data fragments" in one.change for one in found.rows if not one.risk)


def test_no_clock_is_recommended_that_nobody_sells(gigabit):
    base = read(gigabit)
    fast = base.replace({"deployment.node.client.frequency": "4.5 GHz"})
    texts = [{one.text for one in candidates(each)} for each in (base, fast)]
    assert "client clock x1.5" in texts[0]
    assert "client clock x1.5" not in texts[1]


def test_cores_of_a_shared_machine_have_a_price(gigabit):
    base = read(gigabit).replace({"deployment.shared_cores": 4})
    change = parse_change("machine cores x2", base)
    changed = apply(base, [change])
    assert prices_of().of_change(base, changed, [change]) == pytest.approx(4 * (120 + 60 * 2.5))


def test_what_is_not_worth_its_price_names_its_group(tmp_path):
    path = tmp_path / "sizes.toml"
    path.write_text(GIGABIT + '[[sweep]]\n"workload.file_size" = ["4 KiB", "256 MiB"]\n')
    found = recommend(evidence_of(path), "write_throughput", prices_of())
    groups = {one.where for one in found.spared}
    assert groups <= {"file size 4 KiB", "file size 256 MiB"}
    assert groups
    lines = [one for one in found.sentences() if one.startswith("Not worth it")]
    assert lines
    assert all(
        re.match(r"Not worth it for write \(file size (4 KiB|256 MiB)\): ", one) for one in lines
    )


def test_advice_keeps_to_a_budget_and_a_goal(gigabit):
    evidence = evidence_of(gigabit)
    assert all(row.price <= 30 for row in recommend(evidence, "rate", prices_of(), 30).rows)
    with pytest.raises(InputError, match="no configuration has the operation read"):
        recommend(evidence, "read_throughput", prices_of())


def test_prices_of_a_user_replace_those_of_the_package(tmp_path, gigabit):
    scenario = read(gigabit)
    change = parse_change("servers +1", scenario)
    path = tmp_path / "prices.toml"
    path.write_text("server = 1e6\n")
    after = scenario.with_values(change.values)
    usual, dear = (
        prices.of_change(scenario, after, [change]) for prices in (prices_of(), prices_of(path))
    )
    assert usual < 2e4 < 1e6 < dear
    path.write_text("sever = 3.0\n")
    with pytest.raises(InputError, match=r"prices.toml: sever"):
        prices_of(path)


def test_the_commands_answer_first_and_in_json(gigabit, recorded_run):
    shown = dfslab("whatif", gigabit, "client link x2", env={"COLUMNS": "80"})
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("client link x2: write: × ")
    assert max(map(len, shown.stdout.splitlines())) <= 80
    document = json.loads(dfslab("advise", gigabit, "--json").stdout)
    assert document["basis"] == "description"
    assert document["rows"]
    document = json.loads(dfslab("whatif", recorded_run, "cores x2", "--json").stdout)
    assert document["basis"] == "run"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("whatif", "nowhere", "servers +1"), "scenario = 'nowhere': no such file"),
        (("whatif", "{}", "servrs +1"), "CHANGE = 'servrs +1': names nothing that can change"),
        (("whatif", "{}", "copies 3"), "CHANGE = 'copies 3': changes nothing"),
        (("whatif", "{}", "copies 7"), "file_system.copies = 7: must be at most the 3 bricks"),
        (("advise", "{}", "--goal", "speed"), "--goal = 'speed': must be one of rate"),
        (("advise", "{}", "--prices", "none.toml"), "none.toml"),
    ],
)
def test_wrong_input_is_one_line(gigabit, words, error):
    done = dfslab(*(word.format(gigabit) for word in words))
    assert done.returncode == 2
    assert error in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_two_rows_of_an_answer_have_one_name():
    """No two rows of an answer have the same name. A name consists of the operations, the change
    and the configurations. The part for the configurations has the values of all keys in which the
    rows differ, even if one configuration lacks such a key."""
    found = whatif(evidence_of(ready.files()["glusterfs"]), ["clients 8"])
    names = [(*one.operations, one.change, one.configuration) for one in found.rows]
    assert len(names) >= 4
    assert len(set(names)) == len(names)


def test_a_change_that_is_legal_nowhere_is_named():
    allowed = r"CHANGE = 'metadata servers \+1': is legal in no configuration"
    with pytest.raises(InputError, match=allowed):
        whatif(evidence_of(ready.files()["hdfs"]), ["metadata servers +1"])


def test_roles_that_share_a_node_are_split_for_one_more_server():
    found = whatif(evidence_of(ready.files()["hdfs"]), ["servers +1"])
    assert found.rows
    assert any("1 client, 1 master, 3 server" in note for note in found.notes)
    # Each role has separate nodes, both before and after the change. So one more server does not
    # lower the rate.
    assert all(row.rate.gain >= 0.99 for row in found.rows)


def test_changes_that_exclude_each_other_are_not_predicted_together(gigabit):
    found = whatif(evidence_of(gigabit), ["client link 10 Gbit/s", "client link 25 Gbit/s"])
    assert [one.parts for one in found.rows] == [1, 1]
    (note,) = [one for one in found.notes if one.startswith("Not predicted together")]
    assert "client link 10 Gbit/s and client link 25 Gbit/s" in note


def test_no_advised_action_has_a_cheaper_equal(gigabit):
    """Only the client's link limits the rate. Faster links of all nodes would cost more and gain
    the same, so only a faster link of the client is advised."""
    rows = recommend(evidence_of(gigabit), "rate", prices_of()).rows
    changes = [one.change for one in rows]
    assert "client link x2" in changes
    assert "links x2" not in changes


def test_an_assumption_that_changes_nothing_is_not_printed(tmp_path):
    """Clients of HDFS keep no data, so a slow link limits reads whether or not the data are in the
    memory of the servers. With a slow disk, the assumption matters and is stated."""
    reads = GIGABIT.replace("sequential_write", "sequential_read").replace("copies", "replication")
    reads = reads.replace("glusterfs", "hdfs").replace("brick = 1", "datanode = 1, namenode = 1")
    reads = reads.replace("replication = 3", "replication = 1").replace("count = 3", "count = 1")
    link, disk = tmp_path / "link.toml", tmp_path / "disk.toml"
    link.write_text(reads.replace('"1 Gbit/s"', '"1 Mbit/s"'))
    disk.write_text(reads.replace("500 MB/s", "10 MB/s"))
    found = [recommend(evidence_of(one), "rate", prices_of()) for one in (link, disk)]
    assert found[0].assumed == []
    assert len(found[1].assumed) == 1


def test_a_disk_and_both_links_that_are_equally_slow_are_advised_together():
    """One client reads from one server at a time. The disk is hardly slower than the links, so
    faster disks alone gain little, and faster links alone gain nothing."""
    evidence = evidence_of(SCENARIOS / "kumar-copies.toml")
    evidence = replace(evidence, points=evidence.points[:1])
    rows = recommend(evidence, "rate", prices_of()).rows
    joint = [one for one in rows if "server disk x2" in one.change and "links x2" in one.change]
    assert joint
    (alone,) = [one for one in rows if one.change == "server disk x2"]
    assert max(one.gain.gain for one in joint) > 1.2 * alone.gain.gain
