"""Beds of tests have a state folder of their own, and leave nothing on the machine."""

from __future__ import annotations

import os

import pytest
from dfslab.beds import registry
from dfslab.beds.holdings import holdings, settled


@pytest.fixture(scope="module")
def nothing_left(tmp_path_factory):
    """Everything that beds can hold is listed before and after a module's tests."""
    if os.geteuid():
        pytest.skip("hosts need root")
    folder = tmp_path_factory.mktemp("state")
    before = holdings()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFSLAB_STATE", str(folder))
        yield folder
        assert registry.take_down("--all") == [], "a test left a bed"
    assert settled(before) == []
