"""Tests of invalid result files of an earlier format. Each is refused with a one-line message that
names the file. A file is invalid if it is damaged, copied or renamed, was written by a newer
version, or has a figure that is not finite."""

import json
import os
import shutil
from pathlib import Path

import pytest
from dfslab.method import RunFailed
from dfslab.studies.runs import stored
from dfslab.studies.runs.records import result_file, stored_results
from dfslab.studies.runs.records.record import key_of
from dfslab.studies.runs.store import Store
from support import synthetic
from support.command import dfslab
from support.stored import as_format_1

RECORDED = Path(__file__).parents[1] / "recorded" / "run"


@pytest.fixture
def folder(tmp_path):
    """Provides a run folder with planted results in the earlier format, which had one file for each
    result."""
    (tmp_path / "results").mkdir()
    (tmp_path / "traces").mkdir()
    scenario = synthetic.scenario(sizes=["64 KiB"], clients=(1, 2))
    (tmp_path / "scenario.toml").write_text(scenario.toml())
    for result in synthetic.planted(sizes=["64 KiB"], clients=(1, 2)):
        Store(tmp_path).add(result)
    as_format_1(tmp_path)
    return tmp_path


def first(folder):
    return stored.result_files(folder)[0]


def changed(path, change, keeps_checksum=True):
    """Applies `change` to the JSON document in a result file. If `keeps_checksum` is false, also
    removes the format number and the checksum, which files of the first version do not have."""
    document = json.loads(path.read_text())
    if not keeps_checksum:
        del document["format"], document["sha256"]
    change(document)
    path.write_text(json.dumps(document))


def rate(value):
    return lambda document: document["metrics"]["rate_per_s"].update(value=value)


DAMAGE = {
    "empty": (lambda path: path.write_text(""), "no JSON"),
    "bytes": (lambda path: path.write_bytes(b"\xff\xfe"), "no JSON"),
    "deep": (lambda path: path.write_text("[" * 100_000), "nested too deeply"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-9]), "no JSON"),
    "list": (lambda path: path.write_text("[]"), "no JSON object"),
    "value": (lambda path: changed(path, rate(-5.0)), "checksum"),
    "unknown key": (lambda path: changed(path, lambda d: d.update(schema=0)), "checksum"),
    "no checksum": (lambda path: changed(path, lambda d: d.pop("sha256")), "checksum"),
    "later": (lambda path: changed(path, lambda d: d.update(format=99)), "format 99"),
    "method": (lambda path: changed(path, lambda d: d.update(method="x"), False), "renamed"),
    "not finite": (lambda path: changed(path, rate(float("nan")), False), "must be finite"),
    "negative": (lambda path: changed(path, rate(-5.0), False), "at least 0"),
    "no metric": (lambda path: changed(path, lambda d: d.update(metrics={}), False), "no metric"),
    "copy": (lambda path: shutil.copy(path, path.with_name("measure-copy-0.json")), "copy"),
    "renamed": (lambda path: path.rename(path.with_name("measure-x-0.json")), "renamed"),
    "folder": (lambda path: path.with_name("a.json").mkdir(), "no regular file"),
    "link": (lambda path: path.with_name("a.json").symlink_to("/nowhere"), "no regular file"),
    "pipe": (lambda path: os.mkfifo(path.with_name("a.json")), "no regular file"),
    "nothing": (lambda path: shutil.rmtree(path.parent), "no such folder"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_result_is_named_and_nothing_is_concluded(folder, kind):
    damage, reason = DAMAGE[kind]
    damage(first(folder))
    with pytest.raises(RunFailed, match=reason):
        stored_results.read_all(folder)


@pytest.mark.parametrize("command", ["report", "compare", "advise", "export", "fit"])
@pytest.mark.parametrize("kind", ["value", "copy", "pipe"])
def test_commands_say_so_in_one_line(folder, tmp_path, command, kind):
    DAMAGE[kind][0](first(folder))
    extra = ("-o", tmp_path / "out.csv") if command == "export" else ()
    answer = dfslab(command, folder, *extra)
    failures = [line for line in answer.stderr.splitlines() if str(folder / "results") in line]
    assert (answer.returncode, answer.stdout, len(failures)) == (1, "", 1)
    assert not (tmp_path / "out.csv").exists()


def test_every_damaged_result_has_its_line(folder):
    files = stored.result_files(folder)
    for path in files:
        path.write_text("")
    with pytest.raises(RunFailed) as raised:
        stored_results.read_all(folder)
    assert len(str(raised.value).splitlines()) == len(files) > 1


def test_a_damaged_result_is_not_found_and_says_why(folder):
    result = stored_results.read_all(folder)[0]
    first(folder).write_text("")
    key = (result.method, result.point_id, result.repetition)
    assert Store(folder).find(*key) is None
    assert "no JSON" in Store(folder).damage(*key)
    first(folder).unlink()
    assert (Store(folder).find(*key), Store(folder).damage(*key)) == (None, "")


def test_results_of_earlier_versions_are_read_and_reported(folder):
    assert result_file.number_without_checksum(folder) == 0
    changed(first(folder), lambda document: None, keeps_checksum=False)
    assert result_file.number_without_checksum(folder) == 1
    assert "results without a checksum: 1" in dfslab("compare", folder).stderr


def test_recorded_results_of_earlier_versions_are_converted():
    results = stored_results.read_all(RECORDED)
    assert len(results) == len(stored.result_files(RECORDED)) > 0
    assert result_file.number_without_checksum(RECORDED) == len(results)
    assert any(result.load is not None for result in results)


def test_results_of_format_1_are_those_that_were_stored(folder):
    planted = synthetic.planted(sizes=["64 KiB"], clients=(1, 2))
    Store(folder).add(*planted)
    as_format_1(folder)
    expected = {key_of(one): one for one in planted}
    assert {key_of(one): one for one in stored_results.read_all(folder)} == expected


def test_a_result_that_is_stored_again_replaces_its_damaged_file(folder):
    results = stored_results.read_all(folder)
    damaged = first(folder)
    damaged.write_text("")
    again = next(one for one in results if result_file.name(key_of(one)) == damaged.name)
    Store(folder).add(again.model_copy(update={"notes": ["again"]}))
    assert damaged.read_text() == ""
    found = {key_of(one): one.notes for one in stored_results.read_all(folder)}
    assert len(found) == len(results)
    assert found[key_of(again)] == ["again"]
