"""A state folder for one test or one module, so that tests see no one else's testbeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VARIABLE = "DFSLAB_STATE"


@contextmanager
def state_at(folder: Path) -> Iterator[Path]:
    """The state is kept in this folder meanwhile, in this process and in its children."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder))
        yield folder


@pytest.fixture
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One test's own, outside its `tmp_path`."""
    with state_at(tmp_path_factory.mktemp("state")) as folder:
        yield folder


@pytest.fixture(scope="module")
def module_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One module's own, for clusters and testbeds that its tests share."""
    with state_at(tmp_path_factory.mktemp("state")) as folder:
        yield folder


@pytest.fixture
def no_testbed_left(state_folder: Path) -> Iterator[Path]:
    """A state folder whose testbeds are taken down after the test."""
    from dfslab.testbeds import registry

    yield state_folder
    registry.take_down("--all")
