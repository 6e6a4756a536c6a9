"""The version of dfslab, and the commit if dfslab runs from a source tree."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

SOURCE_TREE = Path(__file__).parents[4]


def text(tree: Path = SOURCE_TREE) -> str:
    """Returns the line that `dfslab --version` prints."""
    commit = commit_of(tree)
    return f"dfslab {version('dfslab')}" + (f" (commit {commit})" if commit else "")


def commit_of(tree: Path) -> str:
    """Returns the commit of a source tree; "" if the folder is no source tree or git is not
    installed."""
    if not (tree / ".git").exists():
        return ""
    words = ["git", "-C", str(tree), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
