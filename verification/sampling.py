"""Selects a sample of the cases of every grid. A grid is a test with the pytest mark `grid`, which
has a large product of cases. The verification uses this module, and pytest loads it as a plugin.

A run takes a share of the cases of each grid, but at least one. The cases are selected by a hash of
the seed and the name of the case. A case that is requested by name is always run.
"""

from __future__ import annotations

import hashlib
import math
import subprocess
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

import pytest

SHARE = 0.05


def sampled(names: Iterable[str], share: float, seed: str) -> set[str]:
    """Returns ceil(share × number of names) of the names, selected by the seed. Over all seeds,
    each name is selected."""
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    return set(order[: math.ceil(share * len(order))])


def commit() -> str:
    """Returns the id of the git commit, or "0" if git gives no id. The id is the default seed. Each
    commit therefore runs other cases, and the run of a commit can be repeated."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return "0"
    return answer.stdout.strip() or "0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds pytest's options for the share and the seed of grids."""
    group = parser.getgroup("grid", "a share of the large products of cases")
    group.addoption("--grid-share", type=float, default=SHARE, help="share of each grid's cases")
    group.addoption("--grid-seed", default=None, help="which cases; the commit where none is given")


def pytest_configure(config: pytest.Config) -> None:
    """Declares pytest's mark `grid`, and sets the seed before pytest starts worker processes."""
    config.addinivalue_line("markers", "grid: a large product of cases, of which a share is run")
    if config.option.grid_seed is None:
        config.option.grid_seed = commit()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Prints the pytest options that select the same cases again. The options are printed at the
    end of the run, because quiet runs print no header."""
    requested = config.option
    terminalreporter.write_line(
        f"grids: --grid-share {requested.grid_share:g} --grid-seed {requested.grid_seed}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects all cases of each grid that are not in the sample. The seed determines the sample.
    Deselects nothing if the share is 1 or more, or if a case is requested by name."""
    if config.option.grid_share >= 1 or any("::" in one for one in config.args):
        return
    grids: dict[Hashable, list[str]] = {}
    for item in items:
        if item.get_closest_marker("grid"):
            grids.setdefault(_grid(item), []).append(item.nodeid)
    kept: set[str] = set()
    for cases in grids.values():
        kept |= sampled(cases, config.option.grid_share, config.option.grid_seed)
    left = [item for item in items if _grid(item) in grids and item.nodeid not in kept]
    _leave_out(config, items, left)


def _grid(item: pytest.Item) -> Hashable:
    """Returns the identity of the grid to which a test case belongs: the id of its test
    function.
    """
    return item.nodeid.partition("[")[0]


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], left: Sequence[pytest.Item]
) -> None:
    if left:
        gone = {id(item) for item in left}
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left)
