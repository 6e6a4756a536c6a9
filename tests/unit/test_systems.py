"""Tests of scenarios that compare several file systems. The tests cover tables of roles and
parameters, illegal combinations, the comparison of results, and the section of the page that shows
the comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab.report.sections import systems as section
from dfslab.spec.check import check, checked
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario, read
from dfslab.studies.contract import FinishedRun
from dfslab.studies.runs import store
from dfslab.studies.systems import SystemsComparison, compared
from support.command import dfslab

FIGURES = Path(__file__).parents[2] / "scenarios" / "dfs-perf-figures.toml"
TEXT = """
schema = 1
name = "side-by-side"

[[deployment.node]]
name = "server"
count = 3
memory = "3 GiB"

[[deployment.node]]
name = "client"

[file_system]
name = "hdfs"

[systems.plain]
name = "local"
roles.client = {{ client = 1, storage = 1 }}

[systems.other]
name = "local"
access = {{ directory = "{directory}" }}
roles.client = {{ client = 1, storage = 1 }}

[systems.hdfs]
block_size = "8 MiB"
roles.server = {{ datanode = 1 }}
roles.client = {{ client = 1, namenode = 1 }}

[workload]
name = "mixture"
file_size = "64 KiB"
operations_per_client = 20

[run]
methods = {methods}
repetitions = 2

[[sweep]]
"file_system.name" = {systems}
"""


def scenario(
    folder: Path, systems: str = '["plain", "hdfs"]', more: str = "", methods: str = '["sequence"]'
) -> Scenario:
    """Returns a scenario that compares the file systems `systems`. `more` is the text of further
    lines of its sweep."""
    path = folder / "side.toml"
    text = TEXT.format(directory=folder, systems=systems, methods=methods) + more
    path.write_text(text, encoding="utf-8")
    return read(path)


def test_each_file_system_has_its_own_roles_and_parameters(tmp_path):
    plain, hdfs = check(scenario(tmp_path))
    assert plain.labels == {"file_system.name": "plain"}
    assert plain.scenario.file_system.name == "local"
    assert [group.name for group in plain.scenario.deployment.node] == ["client"]
    assert hdfs.scenario.file_system.parameters == {"block_size": "8 MiB"}
    assert hdfs.scenario.deployment.instances("datanode") == 3
    assert hdfs.scenario.deployment.groups_of("datanode")[0].memory == 3 * 2**30
    # A configuration is a scenario with one file system. Such a scenario does not contain the other
    # file systems of the comparison.
    assert "systems" not in hdfs.scenario.model_dump(mode="json")
    assert plain.id != hdfs.id


def test_the_base_chooses_a_table_as_well(tmp_path):
    chosen = scenario(tmp_path).with_sweep([])
    (point,) = chosen.points()
    assert point.scenario.deployment.instances("datanode") == 3
    (local,) = chosen.with_overrides({"file_system.name": "plain"}).points()
    assert local.scenario.file_system.name == "local"


def test_a_scenario_with_tables_is_written_and_read_back(tmp_path):
    first = scenario(tmp_path)
    (tmp_path / "again.toml").write_text(first.toml(), encoding="utf-8")
    assert read(tmp_path / "again.toml") == first


def test_a_system_without_any_legal_combination_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"file_system\.replication: unknown"):
        check(scenario(tmp_path, more='"file_system.replication" = [1, 2]\n'))


def test_left_out_combinations_are_noted(tmp_path):
    more = '[[sweep]]\n"file_system.name" = ["plain", "hdfs"]\n"file_system.replication" = [1, 2]\n'
    found = checked(scenario(tmp_path, more=more))
    names = [point.labels["file_system.name"] for point in found.points]
    assert names == ["plain", "hdfs", "hdfs", "hdfs"]
    (note,) = found.left_out
    assert note.startswith("plain: 2 configurations left out: file_system.replication")


def test_what_is_illegal_for_every_system_is_an_error(tmp_path):
    more = '[[sweep]]\n"file_system.name" = ["plain", "hdfs"]\n"file_system.replicas" = [1]\n'
    with pytest.raises(InputError, match=r"file_system\.replicas: unknown"):
        check(scenario(tmp_path, more=more))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("roles.server", "roles.servers", r"systems\.hdfs\.roles\.servers: unknown.*did you mean"),
        ("{ datanode = 1 }", "{ datanodes = 1 }", r"roles\.datanodes: unknown"),
        ("block_size", "blocksize", r"file_system\.blocksize: unknown"),
    ],
)
def test_a_wrong_table_is_named(tmp_path, old, new, words):
    path = tmp_path / "side.toml"
    scenario(tmp_path)
    path.write_text(path.read_text().replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        check(read(path))


def test_a_system_without_a_table_is_an_error_that_says_to_write_one(tmp_path):
    with pytest.raises(InputError, match=r"a table \[systems\.glusterfs\]"):
        check(scenario(tmp_path, '["hdfs", "glusterfs"]'))


def test_a_parameter_is_set_in_the_table_of_its_system(tmp_path):
    chosen = scenario(tmp_path)
    with pytest.raises(InputError, match=r"in systems\.NAME\.replication"):
        chosen.with_overrides({"file_system.replication": 1})
    found = chosen.with_overrides({"systems.hdfs.replication": 1})
    assert check(found)[1].scenario.file_system.parameters["replication"] == 1


def test_two_systems_are_measured_and_stand_side_by_side(tmp_path):
    """Two directories are measured in one run and compared in one table. The terminal, the JSON
    document and the page each have this table."""
    more = '"workload.clients" = [1, 2]\n"workload.processes" = [0, 2]\n'
    scenario(tmp_path, '["plain", "other"]', more, '["measure"]')
    out = tmp_path / "out"
    done = dfslab("run", tmp_path / "side.toml", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["systems"]
    assert found["systems"] == ["plain", "other"]
    assert all(set(row["values"]) == {"plain", "other"} for row in found["rows"])
    rates = [row for row in found["rows"] if row["measure"] == "rate"]
    assert len(rates) == 4
    folder = out / "side-by-side" / "latest"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert section.TITLE in page
    assert "plain, other" in page
    run = FinishedRun(read(folder / "scenario.toml"), store.load_results(folder))
    comparison = compared(run.settled)
    assert comparison is not None
    for row in comparison.rows:
        if row.measure == "rate":
            own = [
                one.value()
                for one in run.settled
                if one.labels["file_system.name"] == "other"
                and {k: one.labels[k] for k in row.labels} == row.labels
            ]
            assert len(own) == 2
            assert min(own) <= row.values["other"].value <= max(own)
    tables = comparison.tables(run)
    assert [column.title for column in tables[0].columns] == ["workload", "plain", "other"]


def test_one_system_is_no_comparison(tmp_path):
    assert compared([]) is None
    assert section.render(FinishedRun(scenario(tmp_path), [])) is None


def test_a_result_that_a_system_lacks_is_a_dash(tmp_path):
    more = '[[sweep]]\n"file_system.name" = ["hdfs"]\n"file_system.replication" = [1, 2]\n'
    path = tmp_path / "side.toml"
    scenario(tmp_path, more=more)
    done = dfslab("run", path, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    found = SystemsComparison.model_validate(json.loads(done.stdout)["systems"])
    only = [row for row in found.rows if "file_system.replication" in row.labels]
    assert [set(row.values) for row in only] == [{"hdfs"}, {"hdfs"}]
    cells = found.tables(FinishedRun(read(path), []))[0].rows[-1]
    assert cells[1].value is None
    assert cells[2].value == only[-1].values["hdfs"].value


def test_the_scenario_of_dfs_perfs_figures_has_five_series_in_three_workloads():
    points = check(read(FIGURES))
    series = {point.labels["file_system.name"] for point in points}
    assert series == {"local", "hdfs", "glusterfs", "alluxio", "alluxio-through"}
    workloads = {point.scenario.workload.name for point in points}
    assert workloads == {"dfsperf_metadata", "dfsperf_mixture", "dfsperf_iterate"}
    assert len(points) == 5 * 13
    assert all(point.scenario.workload.nodes == 1 for point in points)
