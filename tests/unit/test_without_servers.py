"""Tests that advice and fitted functions for a local file system mention no network, because its
operations use none, and of the texts of candidate actions."""

from __future__ import annotations

import pytest
from dfslab.models.fit import step_functions
from dfslab.spec.files import ready
from dfslab.spec.scenario import read
from dfslab.studies.decisions.actions import candidates
from dfslab.studies.runs import store


def actions_of(name: str) -> str:
    """Returns the candidate actions of a scenario that comes with dfslab, as one text."""
    found = candidates(read(ready.files()[name]).points()[0].scenario)
    assert found
    return "; ".join(one.text for one in found)


@pytest.mark.parametrize("scenario", ["quickstart", "openzfs"])
def test_no_link_is_advised_without_servers(scenario):
    found = actions_of(scenario)
    assert "link" not in found
    assert "network" not in found
    assert "disk x2" in found


def test_links_are_advised_with_servers():
    found = actions_of("glusterfs")
    assert "network latency /2" in found
    assert "links x2" in found


def test_no_network_latency_is_fitted_without_servers(recorded_run):
    found = step_functions.fit(store.results_of(recorded_run))
    assert len(found) > 2
    for one in found:
        assert "network" not in one.text


def test_joined_actions_name_their_changes_in_one_order():
    scenario = read(ready.files()["glusterfs"]).points()[0].scenario
    by_text = {one.text: one for one in candidates(scenario)}
    setting, disk, links = (by_text[one] for one in ("shard 1", "server disk x2", "links x2"))
    joined = links.joined(setting).joined(disk)
    assert joined.text == "links x2 and server disk x2 and shard 1"
    assert disk.joined(links).joined(setting).text == joined.text
