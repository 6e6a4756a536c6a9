"""Tests of the note on incomplete descriptions of file systems. In such a description, a server
reads the bytes of a file from its disk, but no message carries these bytes to the client."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dfslab import discover
from dfslab.cli import describing
from dfslab.report.description import notes
from dfslab.spec.steps.file_bytes import moved_without_message
from dfslab.spec.steps.operation import call, cpu, disk_read, pipeline, repeat, reply, seq
from dfslab.spec.systems.parameters import symbol

SIZE = symbol("file_size")
DISK = disk_read("server", SIZE)


@pytest.mark.parametrize(
    ("tree", "lacks"),
    [
        (seq(DISK), True),
        (call("server", "fetch", DISK), True),
        (seq(call("master", "lookup", response_bytes=4096), DISK), True),
        (call("server", "fetch", DISK, response_bytes=SIZE), False),
        (pipeline(SIZE / 4096, DISK, reply("client", size_bytes=4096)), False),
        (seq(DISK, repeat(SIZE / 4096, call("server", "page", response_bytes=4096))), False),
        (call("server", "stat", disk_read("server", 4096)), False),
        (seq(cpu("server", SIZE / 1e9)), False),
        (seq(disk_read("client", SIZE)), False),
    ],
)
def test_bytes_on_a_disk_need_a_message_that_grows_with_them(tree, lacks):
    assert moved_without_message(tree, ["server"]) is lacks


@pytest.mark.parametrize("name", sorted(discover.members(discover.FILE_SYSTEMS)))
def test_no_description_of_the_package_has_the_note(name):
    system = discover.file_system(name)
    assert notes(system, list(system.operations)) == []


def test_show_filesystem_names_the_operations_that_lack_a_message(monkeypatch):
    described = discover.file_system("nfs")
    operations = {**described.operations, "read": seq(DISK, name="read")}
    lacking = replace(described, operations=operations)
    monkeypatch.setattr(describing.discover, "file_system", lambda name: lacking)
    _, (_, note) = describing.filesystem("nfs", "table", "")
    assert note.startswith("note: no message of read carries the file's bytes")
    assert "response_bytes" in note
    _, shown = describing.filesystem("nfs", "table", "write")
    assert len(shown) == 1
