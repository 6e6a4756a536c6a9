"""Tests that installed programs are found for every user, root or not."""

from __future__ import annotations

from dfslab.testbeds.hosts import programs


def test_a_program_for_administrators_is_found_without_it_in_the_path(tmp_path, monkeypatch):
    """`find_program` also searches the folders in SYSTEM_FOLDERS. Debian leaves one of these
    folders, /usr/sbin, out of the PATH of users other than root. The programs in /usr/sbin are
    nevertheless found for every user."""
    system = tmp_path / "sbin"
    system.mkdir()
    server = system / "some-server"
    server.write_text("#!/bin/sh\n")
    server.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert programs.find_program("some-server") is None
    monkeypatch.setattr(programs, "SYSTEM_FOLDERS", (str(system),))
    assert programs.find_program("some-server") == str(server)
