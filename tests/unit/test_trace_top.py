"""The live view of traces: what it shows is what lies there now, until a receiver has ended."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from dfslab.cli import trace_work
from dfslab.cli.commands import app
from dfslab.instruments import callprofile
from dfslab.spec.model import InputError
from test_gain import SMALL_FILES, files
from typer.testing import CliRunner

ROW = {"name": "read", "path": "client:read", "kind": "service", "count": 3, "bytes": 0,
       "total_s": 1.0, "self_s": 1.0, "share": 1.0, "mean_s": 0.3, "errors": 0}  # fmt: skip


def received(folder: Path, spans: int, ended: bool) -> None:
    whole = {"spans": spans, "trees": 1, "shapes": 1, "ranking": [{**ROW, "count": spans}],
             "losses": {}, "received": {"refused": 0}, "ended": ended}  # fmt: skip
    beside = folder / "next"
    beside.write_text(json.dumps(whole))
    beside.replace(folder / trace_work.RECEIVED)


def test_it_looks_at_running_jvms(tmp_path):
    (_, file), *others = files(SMALL_FILES)
    path = tmp_path / "client.profile.json"
    path.write_text(callprofile.written(file))
    answer = CliRunner().invoke(app, ["trace", "top", str(tmp_path), "--once", "--json"])
    assert answer.exit_code == 0, answer.output
    before = json.loads(answer.stdout)
    # A second process writes its profile: the next look has both, one under the other.
    for name, other in others:
        (tmp_path / f"{name}.profile.json").write_text(callprofile.written(other))
    after = trace_work.look(tmp_path)
    assert after["spans"] == before["spans"] + 20
    assert any("/server:make" in row["path"] for row in after["ranking"])


def test_it_goes_on_until_the_receiver_has_ended(tmp_path, capsys):
    received(tmp_path, 3, ended=False)
    watching = threading.Thread(target=trace_work.watch, args=(tmp_path, 0.01), daemon=True)
    watching.start()
    watching.join(0.2)
    assert watching.is_alive()
    received(tmp_path, 1234, ended=True)
    watching.join(60)
    assert not watching.is_alive()
    assert "1234 spans" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", "[]", '{"spans": 1}'])
def test_what_is_no_profile_is_one_line(tmp_path, text):
    (tmp_path / trace_work.RECEIVED).write_text(text)
    with pytest.raises(InputError, match=trace_work.RECEIVED):
        trace_work.look(tmp_path)
