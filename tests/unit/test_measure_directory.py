"""Tests of `dfslab measure DIRECTORY`, which measures a directory without a scenario file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dfslab import extras
from dfslab.cli.root import app
from dfslab.documents.measured_load import MeasuredLoad
from dfslab.instruments import recognising
from dfslab.instruments.discovery.directory import Transfers, scenario
from dfslab.instruments.measure import only_time_was_up
from dfslab.spec import units
from dfslab.spec.check import check
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import read
from dfslab.studies.runs import store
from support.command import dfslab
from typer.testing import CliRunner

# The run has a fixed number of transfers, so its outcome does not depend on the machine's speed.
COUNTED = ("--set", "workload.operations_per_client=20", "--time", "60s")
QUICK = ("--size", "1m", "--repetitions", "2", *COUNTED)


def made(directory: Path, **changes):
    return scenario(directory, Transfers(**{"size": "16m", **changes}))


def test_every_combination_is_a_configuration(tmp_path):
    found = made(tmp_path, block_sizes="4k,64K,1m", modes="read,randwrite", clients="1,8")
    points = check(found)
    assert len(points) == 3 * 2 * 2
    sizes = {point.scenario.workload.parameters["transfer_size"] for point in points}
    assert {units.parse(str(size), "B") for size in sizes} == {4096, 65536, 1 << 20}


def test_clients_share_the_wanted_size(tmp_path):
    """The sizes of all clients' files sum to the requested size, whatever the number of clients."""
    for point in check(made(tmp_path, clients="1,2,8", block_sizes="4k")):
        part = units.parse(str(point.scenario.workload.parameters["file_size"]), "B")
        assert part * point.scenario.workload.clients == 16 << 20


def test_a_directory_is_measured_without_a_scenario(tmp_path):
    place = tmp_path / "mount"
    place.mkdir()
    words = ("measure", place, *QUICK, "--bs", "4k", "--rw", "randread,randwrite")
    answer = dfslab(*words, "--clients", "1,2", cwd=tmp_path, env={"COLUMNS": "80"})
    assert answer.returncode == 0, answer.stderr
    assert "transfers/s" in answer.stdout
    for name in ("randread, 1 client", "randwrite, 2 clients", "All: 4 KiB."):
        assert name in answer.stdout
    # Paths in the last two lines are not wrapped.
    assert max(map(len, answer.stdout.splitlines()[:-2])) <= 80
    assert not list(place.iterdir())


def test_a_measured_directory_has_a_page(tmp_path):
    words = ("measure", tmp_path, *QUICK, "--bs", "4k", "--rw", "read", "--clients", "1,2")
    answer = dfslab(*words, cwd=tmp_path)
    folder, page = answer.stdout.splitlines()[-2:]
    assert page == f"page: {folder.removeprefix('run: ')}/report.html"
    assert "How fast are transfers" in (tmp_path / page.removeprefix("page: ")).read_text()
    # The command that `dfslab compare` proposes names the same folder as the line "run:".
    run = folder.removeprefix("run: ")
    compared = " ".join(json.loads(dfslab("compare", run, "--json", cwd=tmp_path).stdout)["answer"])
    assert "What a change would gain was not computed" in compared
    assert f"dfslab measure {run}/scenario.toml --set " in compared


def test_the_kept_scenario_marks_what_nobody_declared_or_measured(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text("36 35 98:0 / / rw - btrfs /dev/vda rw\n")
    monkeypatch.setattr(recognising, "MOUNTS", mounts)
    kept = store.open_run(made(tmp_path), tmp_path / "runs").folder / "scenario.toml"
    head = [line for line in kept.read_text().splitlines() if line.startswith("#")]
    assert head[0] == f"# {tmp_path} is on btrfs."
    for key in ("disk.read_rate 500 MB/s", "frequency 2.5 GHz", "call_time 1 us"):
        assert f"#   deployment.node.machine.{key}" in head
    assert not any("machine.cores" in one or "machine.memory" in one for one in head)
    assert read(kept) == made(tmp_path)
    # An unfinished run is resumed in spite of the comments, also by the scenario that it keeps.
    for scenario_again in (made(tmp_path), read(kept)):
        assert store.open_run(scenario_again, tmp_path / "runs").folder == kept.parent


def test_without_the_extra_of_pages_a_directory_is_measured_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setitem(extras.EXTRAS, "page", ("a_library_that_is_not_installed",))
    words = ("measure", tmp_path, *QUICK, "--bs", "4k", "--rw", "read", "--clients", "1")
    answer = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "runs")])
    assert answer.exit_code == 0, answer.output
    assert answer.output.splitlines()[-1].startswith("run: ")
    assert not list((tmp_path / "runs").rglob("report.html"))


def test_the_scenario_that_was_made_is_kept_and_can_be_measured_again(tmp_path):
    place = tmp_path / "mount"
    place.mkdir()
    words = ("measure", place, *QUICK, "--bs", "4k", "--rw", "randwrite", "--clients", "1")
    answer = json.loads(dfslab(*words, "--json", cwd=tmp_path).stdout)
    kept = tmp_path / answer["folder"] / "scenario.toml"
    assert read(kept).file_system.access.directory == str(place)
    again = dfslab("measure", kept, "--out", "again", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    (first, *_) = json.loads(again.stdout)["results"]
    assert first["complete"]
    assert first["metrics"]["latency_s_mean.pwrite"]["value"] > 0


def test_a_run_that_is_not_timed_and_meets_its_time_limit_is_incomplete(tmp_path):
    place = tmp_path / "mount"
    place.mkdir()
    words = ("measure", place, "--size", "1m", "--bs", "4k", "--rw", "read", "--clients", "1")
    answer = dfslab(*words, "--time", "50ms", "--set", "run.timed=false", cwd=tmp_path)
    assert answer.returncode == 1
    assert "incomplete" in answer.stderr


@pytest.mark.parametrize(
    ("load", "is_whole"),
    [
        ({"window_s": 1.0}, True),
        ({"window_s": 0.0}, False),
        ({"window_s": 1.0, "errors": [{"operation": "pread", "kind": "io", "count": 1}]}, False),
        ({"window_s": 1.0, "places": [{"name": "a", "lost": "gone"}]}, False),
    ],
)
def test_a_timed_run_is_complete_if_nothing_else_ended_it(load, is_whole):
    rows = [{"first": "", **one} for one in load.pop("errors", [])]
    hosts = [{"clients_from": 0, "clients_to": 1, **one} for one in load.pop("places", [])]
    known = MeasuredLoad.model_validate({"wall_s": 1.0, **load, "errors": rows, "places": hosts})
    assert only_time_was_up(known) is is_whole


WRONG = {
    "block": (("--bs", "4x"), ["--bs", "4x"]),
    "no block": (("--bs", ","), ["--bs", "at least one"]),
    "a time for a block": (("--bs", "4 s"), ["--bs", "is a time"]),
    "mode": (("--rw", "randreed"), ["--rw", "did you mean randread"]),
    "clients": (("--clients", "1,two"), ["--clients", "two"]),
    "no clients": (("--clients", "0"), ["--clients", "whole numbers"]),
    "size": (("--size", "1000000g"), ["--size", "free"]),
    "small": (("--size", "4k", "--bs", "1m"), ["--size", "one block"]),
    "time": (("--time", "5"), ["--time", "unit"]),
    "both": (("--cold", "--direct"), ["--direct", "--cold"]),
    "odd direct": (("--bs", "1000 B", "--direct"), ["--bs", "4096"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_one_line(case, tmp_path):
    words, expected = WRONG[case]
    answer = dfslab("measure", tmp_path, *words, cwd=tmp_path)
    assert answer.returncode == 2, answer.stderr
    (line,) = answer.stderr.splitlines()
    assert all(word in line for word in expected), line


def test_options_of_directories_do_not_go_with_a_scenario(tmp_path):
    (tmp_path / "a.toml").write_text('name = "a"')
    answer = dfslab("measure", "a.toml", "--bs", "4k", cwd=tmp_path)
    assert answer.returncode == 2
    assert "--set workload.transfer_size=" in answer.stderr


def test_a_directory_that_may_not_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="may not make files"):
        made(tmp_path)
