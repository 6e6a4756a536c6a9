"""docs/load.md is executed: its scenario and every dfslab command, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.command import dfslab

TEXT = (Path(__file__).parents[2] / "docs" / "load.md").read_text()


@pytest.mark.heavy
def test_every_command_of_the_page_on_loads_does_its_job(tmp_path):
    (tmp_path / "small.toml").write_text(re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)[0])
    blocks = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(command)
        assert words[0] == ".venv/bin/dfslab"
        answer = dfslab(*words[1:], cwd=tmp_path)
        assert answer.returncode == 0, f"{command}\n{answer.stdout[-2000:]}\n{answer.stderr}"
        assert answer.stdout.strip(), command
