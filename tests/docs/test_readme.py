"""The README is executed: its scenario and every dfslab command, in order."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from support.command import dfslab

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith(".venv/bin/dfslab")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    (folder / "mine.toml").write_text(blocks("toml")[0])
    return folder


@pytest.mark.heavy
def test_every_command_does_its_job(place):
    assert len(commands()) >= 10
    # `bed down --all` must not take down what others of this machine have up.
    own = {"DFSLAB_STATE": str(place / "state")}
    for command in commands():
        arguments = shlex.split(command)[1:]
        if arguments[:2] == ["bed", "up"] and os.geteuid():
            continue  # hosts need root
        answer = dfslab(*arguments, cwd=place, env=own)
        assert answer.returncode == 0, f"{command}\n{answer.stdout[-2000:]}\n{answer.stderr}"
        assert answer.stdout.strip(), command
        if "--json" in arguments:
            document = json.loads(answer.stdout)
            scores = document["held_out"]
            for method in ("sequence", "petri", "regression", "mean"):
                assert set(scores[method]) >= {
                    "n",
                    "median_abs_error",
                    "p90_abs_error",
                    "coverage_90",
                }
                assert scores[method]["n"] == 2


def test_the_make_targets_that_it_names_are_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", README))
    assert {"demo", "test", "help"} <= named <= targets


def test_every_file_that_the_documents_name_is_there():
    for document in ("README.md", "ARCHITECTURE.md", "STYLE.md"):
        text = (ROOT / document).read_text()
        for name in re.findall(r"`((?:[\w-]+/)+[\w.-]+\.\w+)`", text):
            candidates = [ROOT / name, ROOT / "python" / "dfslab" / name, ROOT / "core" / name]
            known = any(path.exists() for path in candidates)
            assert known or "NAME" in name or "*" in name, f"{document} names {name}"
