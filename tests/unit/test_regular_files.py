"""Tests that files of run folders are opened only if they are regular files. If a file is replaced
by a pipe, the command does not wait for ever. If a file is replaced by a link, the command does not
write to the target of the link."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from dfslab.spec.files import regular
from dfslab.spec.input_error import InputError
from dfslab.studies.trials.intervention_record import check_records
from dfslab.web.catalog import state_of
from dfslab.web.live_view import lines_of
from support.command import dfslab
from support.scenarios import local_writes
from support.stored import keep_only

CONTENT = b"of somebody else\n"
SCENARIO = local_writes(
    "kept",
    """file_size = "4 KiB"
operations_per_client = 4
[run]
methods = ["measure"]
repetitions = 2
""",
)


def _link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def _pipe(path: Path, target: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, target: Path) -> None:
    path.mkdir()


ODD: dict[str, Callable[[Path, Path], None]] = {"link": _link, "pipe": _pipe, "folder": _folder}


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], None]:
    """Provides a function that puts a link, a pipe or a folder in place of a file."""
    target = tmp_path / "target"
    target.write_bytes(CONTENT)

    def put(path: Path) -> None:
        path.unlink(missing_ok=True)
        ODD[request.param](path, target)

    return put


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """Provides the folder of a run that has one of its two measurements."""
    (tmp_path / "kept.toml").write_text(SCENARIO)
    first = dfslab("measure", "kept.toml", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    (folder,) = (tmp_path / "runs" / "kept").glob("2*")
    keep_only(folder, lambda one: one.repetition < 1)
    return folder


def test_only_regular_files_are_written(tmp_path: Path, odd: Callable[[Path], None]):
    path = tmp_path / "file"
    odd(path)
    with pytest.raises(OSError, match=regular.NOT_REGULAR):
        regular.opened(path, os.O_WRONLY | os.O_CREAT)
    assert (tmp_path / "target").read_bytes() == CONTENT


@pytest.mark.parametrize("put", [_pipe, _folder])
def test_pipes_and_folders_are_not_read(tmp_path: Path, put: Callable[[Path, Path], None]):
    put(tmp_path / "file", tmp_path)
    with pytest.raises(OSError, match=regular.NOT_REGULAR):
        regular.content(tmp_path / "file")


def test_a_file_behind_a_link_is_read(tmp_path: Path):
    (tmp_path / "target").write_bytes(CONTENT)
    (tmp_path / "file").symlink_to("target")
    assert regular.content(tmp_path / "file") == CONTENT


def test_a_new_file_is_made_and_an_old_one_keeps_its_content(tmp_path: Path):
    for _ in range(2):
        descriptor = regular.opened(tmp_path / "file", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, CONTENT)
        os.close(descriptor)
    assert (tmp_path / "file").read_bytes() == CONTENT * 2


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (".lock", 1),
        ("../.choice.lock", 2),
        ("results/records.jsonl", 1),
        ("results/records.index", 0),
        ("live.jsonl", 0),
        ("scenario.toml", 0),
    ],
)
def test_a_resumed_run_waits_for_no_pipe_and_writes_through_no_link(
    unfinished: Path, odd: Callable[[Path], None], name: str, code: int
):
    place = unfinished.parents[2]
    odd(unfinished / name)
    again = dfslab("measure", "kept.toml", cwd=place)
    assert again.returncode == code, again.stderr
    assert "Traceback" not in again.stderr
    if code:
        assert regular.NOT_REGULAR in again.stderr
    assert (place / "target").read_bytes() == CONTENT


def test_another_scenario_in_no_encoding_is_another_run(unfinished: Path):
    (unfinished / "scenario.toml").write_bytes(b"\xff\xfe")
    again = dfslab("measure", "kept.toml", cwd=unfinished.parents[2])
    assert again.returncode == 0, again.stderr
    assert "resuming" not in again.stderr


@pytest.mark.parametrize("name", ["findings.json", "complete"])
def test_a_report_waits_for_no_pipe(tmp_path: Path, name: str):
    (tmp_path / "kept.toml").write_text(SCENARIO)
    assert dfslab("measure", "kept.toml", cwd=tmp_path).returncode == 0
    (folder,) = (tmp_path / "runs" / "kept").glob("2*")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    shown = dfslab("report", str(folder), "--as", "csv", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr


def test_deeply_nested_findings_are_computed_again(tmp_path: Path):
    (tmp_path / "kept.toml").write_text(SCENARIO)
    assert dfslab("measure", "kept.toml", cwd=tmp_path).returncode == 0
    (folder,) = (tmp_path / "runs" / "kept").glob("2*")
    (folder / "findings.json").write_text("[" * 200_000)
    shown = dfslab("report", str(folder), cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr


def test_the_web_application_waits_for_no_pipe(tmp_path: Path):
    for name in (".lock", "live.jsonl"):
        os.mkfifo(tmp_path / name)
    assert state_of(tmp_path) == "unfinished"
    assert lines_of(tmp_path / "live.jsonl") == []


def test_predictions_are_recorded_in_regular_files_only(
    tmp_path: Path, odd: Callable[[Path], None]
):
    odd(tmp_path / "interventions.jsonl")
    with pytest.raises(InputError, match=regular.NOT_REGULAR):
        check_records(tmp_path / "interventions.jsonl")
    assert (tmp_path / "target").read_bytes() == CONTENT
