"""Tests that the profile of a command contains exactly the calls that the traced processes made
while the command ran."""

from __future__ import annotations

import json

import pytest
from dfslab.instruments.tracing import callprofile
from dfslab.instruments.tracing.callprofile import SUFFIX, File, merge
from dfslab.instruments.tracing.command_profile import THIS_MACHINE, host_of, write_increase
from dfslab.instruments.tracing.exemplar_traces import EXEMPLARS

BEGAN = 1_000_000


def row(above, name, count, ns=100):
    return {
        "above": above,
        "step": name,
        "count": count,
        "total_ns": count * ns,
        "self_ns": count * ns,
        "min_ns": ns,
        "max_ns": ns,
        "durations": [[ns, count]] if count else [],
    }


def profile(service, rows, last=False):
    return File.model_validate(
        {
            "format": "dfslab-profile/1",
            "service": service,
            "instance": service,
            "pid": 1,
            "started_unix_ns": 1,
            "written_unix_ns": BEGAN,
            "last": last,
            "trees": 1,
            "open_calls": 0,
            "points": [],
            "losses": {},
            "nodes": rows,
        }
    )


START = [row(-1, "rpc_versionRequest", 3, 2_900_000_000), row(0, "connect", 3)]


def test_what_a_testbed_did_before_the_command_is_left_out(tmp_path):
    before = {f"datanode{SUFFIX}": profile("datanode", START)}
    later = [*START, row(-1, "write_block", 2), row(2, "disk", 4)]
    after = {
        f"datanode{SUFFIX}": profile("datanode", later),
        f"client{SUFFIX}": profile("client", [row(-1, "put", 2)], last=True),
    }
    for name, file in after.items():
        (tmp_path / name).write_text(callprofile.written(file))
    assert write_increase(tmp_path, tmp_path, before, after, BEGAN, THIS_MACHINE) == 2
    files = [callprofile.read(path) for path in sorted(tmp_path.glob(f"*{SUFFIX}"))]
    steps = {(file.service, one.step): one.count for file in files for one in file.nodes}
    assert steps == {("client", "put"): 2, ("datanode", "write_block"): 2, ("datanode", "disk"): 4}
    assert {file.host for file in files} == {THIS_MACHINE}
    assert files[1].nodes[1].above == 0
    top = merge((file.instance, file) for file in files)
    assert "datanode:rpc_versionRequest" not in top.children


def test_steps_above_a_call_are_kept(tmp_path):
    """The profile contains a step that began before the command and made a call during the command.
    The step is the parent of this call and has a count of 0."""
    before = {f"a{SUFFIX}": profile("a", [row(-1, "loop", 1), row(0, "old", 1)])}
    rows = [row(-1, "loop", 1), row(0, "old", 1), row(0, "new", 1)]
    after = {f"a{SUFFIX}": profile("a", rows)}
    assert write_increase(tmp_path, tmp_path, before, after, BEGAN) == 1
    found = callprofile.read(tmp_path / f"a{SUFFIX}")
    assert [(one.step, one.above, one.count) for one in found.nodes] == [
        ("loop", -1, 0),
        ("new", 0, 1),
    ]


def test_a_process_without_a_call_and_old_files_are_left_out(tmp_path):
    file = profile("datanode", START)
    name = f"datanode{SUFFIX}"
    (tmp_path / name).write_text(callprofile.written(file))
    (tmp_path / f"datanode{EXEMPLARS}").write_text("{}")
    assert write_increase(tmp_path, tmp_path, {name: file}, {name: file}, BEGAN) == 0
    assert list(tmp_path.iterdir()) == []


def test_exemplars_from_before_the_command_are_left_out(tmp_path):
    spans = [{"startTimeUnixNano": str(BEGAN - 1)}, {"startTimeUnixNano": str(BEGAN + 1)}]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    (tmp_path / f"client{EXEMPLARS}").write_text(json.dumps(document))
    after = {f"client{SUFFIX}": profile("client", [row(-1, "put", 2)], last=True)}
    write_increase(tmp_path, tmp_path, {}, after, BEGAN)
    read = json.loads((tmp_path / f"client{EXEMPLARS}").read_text())
    assert read["resourceSpans"][0]["scopeSpans"][0]["spans"] == spans[1:]


@pytest.mark.parametrize(("prefix", "host"), [([], THIS_MACHINE), (["enter", "host"], "")])
def test_a_testbed_whose_commands_enter_a_host_has_several(prefix, host):
    class Fixed:
        def client_command(self, words):
            return [*prefix, *words]

    assert host_of(Fixed()) == host
