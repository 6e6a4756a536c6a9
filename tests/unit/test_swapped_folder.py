"""Tests that a run changes no foreign files if a client's folder is replaced by a link during the
run."""

import os

from support.running_agent import RUN_DIRECTORY, running_agent

HANGS_S = 300


def test_no_file_is_made_changed_or_removed_through_a_link(tmp_path):
    folder, others = tmp_path / "t", tmp_path / "others"
    folder.mkdir()
    others.mkdir()
    for number in range(50):
        (others / f"f{number}").write_text("precious")
    with running_agent(folder) as agent:
        own = folder / RUN_DIRECTORY / "c0"
        made = len(os.listdir(own))
        own.rename(folder / "moved")
        own.symlink_to(others)
        agent.stdin.close()
        agent.wait(HANGS_S)
    assert made > 0
    assert sorted(os.listdir(others)) == sorted(f"f{number}" for number in range(50))
    assert {path.read_text() for path in others.iterdir()} == {"precious"}
    # The run has removed its files from the folder, which now has another path.
    assert os.listdir(folder / "moved") == []
