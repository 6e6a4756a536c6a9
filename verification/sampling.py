"""A seeded share of every grid: which cases of a large product are run, here and under pytest.

A test marked `grid` is one product of many cases. A run takes a share of each by a hash of the seed
and the case's name, one case at least; a case that is asked for by name is always run.
"""

from __future__ import annotations

import hashlib
import math
import subprocess
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

import pytest

SHARE = 0.1


def sampled(names: Iterable[str], share: float, seed: str) -> set[str]:
    """A share of the names, rounded up; another seed takes others, and all seeds take each."""
    order = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())
    return set(order[: math.ceil(share * len(order))])


def commit() -> str:
    """The seed of a run without one: the commit, so that each takes others and can be repeated."""
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
    """The share and the seed."""
    group = parser.getgroup("grid", "a share of the large products of cases")
    group.addoption("--grid-share", type=float, default=SHARE, help="share of each grid's cases")
    group.addoption("--grid-seed", default=None, help="which cases; the commit where none is given")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and take the seed before workers are started."""
    config.addinivalue_line("markers", "grid: a large product of cases, of which a share is run")
    if config.option.grid_seed is None:
        config.option.grid_seed = commit()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What to say to get the same cases again; the header is not printed by quiet runs."""
    asked = config.option
    terminalreporter.write_line(
        f"grids: --grid-share {asked.grid_share:g} --grid-seed {asked.grid_seed}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of each grid that the seed does not take."""
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
    """The test function that an item is a case of."""
    return item.nodeid.partition("[")[0]


def _leave_out(
    config: pytest.Config, items: list[pytest.Item], left: Sequence[pytest.Item]
) -> None:
    if left:
        gone = {id(item) for item in left}
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left)
