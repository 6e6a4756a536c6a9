"""A separate state folder for one test or module, in which no other testbed is visible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VARIABLE = "DFSLAB_STATE"


@contextmanager
def state_at(folder: Path) -> Iterator[Path]:
    """A context in which this process and its children use this state folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder))
        yield folder


@pytest.fixture
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder for one test, outside the test's `tmp_path`."""
    with state_at(tmp_path_factory.mktemp("state")) as folder:
        yield folder


@pytest.fixture(scope="module")
def module_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder for one module, for clusters and testbeds that its tests share."""
    with state_at(tmp_path_factory.mktemp("state")) as folder:
        yield folder


@pytest.fixture
def no_testbed_left(state_folder: Path) -> Iterator[Path]:
    """A state folder whose testbeds are taken down after the test."""
    from dfslab.testbeds import registry

    yield state_folder
    registry.take_down("--all")
