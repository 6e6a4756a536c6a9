"""Gives a test or a test module a separate state folder. Commands in the test then do not find the
testbeds of other tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

VARIABLE = "DFSLAB_STATE"


@contextmanager
def state_at(folder: Path) -> Iterator[Path]:
    """Makes this process and its children use the state folder `folder` within the `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(folder))
        yield folder


@pytest.fixture
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provides a state folder for one test, outside the test's `tmp_path`."""
    with state_at(tmp_path_factory.mktemp("state")) as folder:
        yield folder


@pytest.fixture(scope="module")
def module_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provides a state folder for one test module. The tests of the module share clusters and
    testbeds."""
    with state_at(tmp_path_factory.mktemp("state")) as folder:
        yield folder


@pytest.fixture
def no_testbed_left(state_folder: Path) -> Iterator[Path]:
    """Provides a state folder for one test, and takes down its testbeds after the test."""
    from dfslab.testbeds import registry

    yield state_folder
    registry.take_down("--all")
