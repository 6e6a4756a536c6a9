"""Tests of paths of calls. The tests check which processes and steps a path has, how paths are
ordered, whether a longer path contains a path, and how a path is written in documents."""

from __future__ import annotations

import pytest
from dfslab.documents.traces.call_path import CallPath
from dfslab.documents.traces.plain import plain
from dfslab.documents.traces.trace_analysis import ModelledStep
from dfslab.documents.traces.trace_tree import walk
from pydantic import BaseModel, ValidationError
from support.profiles import tree_node, tree_profile

WRITE = CallPath.read("client:put/create/rpc/server:make/disk")


def test_each_call_knows_its_process():
    assert (WRITE.process, WRITE.step, WRITE.name) == (None, "disk", "disk")
    assert (WRITE.within, WRITE.origin, WRITE.processes) == ("server", "client", 2)
    assert WRITE.steps == ("put", "create", "rpc", "make", "disk")
    assert WRITE.parent is not None
    assert WRITE.parent.process == "server"
    nowhere = CallPath.read("write/flush")
    assert (nowhere.within, nowhere.origin, nowhere.processes) == (None, None, 0)


@pytest.mark.parametrize("text", ["", "a", "a/b", ":x", "x:", "a:b:c/d", "/", "a//b"])
def test_a_path_is_printed_as_it_was_read(text):
    assert str(CallPath.read(text)) == text


def test_what_is_below_is_decided_by_whole_names():
    put = CallPath.read("client:put")
    assert WRITE.is_below(put)
    assert not put.is_below(put)
    assert put.is_at_or_below(put)
    assert not CallPath.read("client:put_all/x").is_below(put)
    assert WRITE.ends_with("make/disk")
    assert not WRITE.ends_with("ake/disk")
    assert not CallPath.read("disk").ends_with("make/disk")


def test_a_slash_in_a_name_starts_no_call():
    one = CallPath.of("GET /file", CallPath.of("client"))
    assert one.names == ("client", "GET /file")
    assert one != CallPath.read(str(one))
    assert one == CallPath(None, "GET /file", CallPath.of("client"))


def test_documents_hold_the_text():
    class Holder(BaseModel):
        path: CallPath
        by_path: dict[CallPath, float]

    reported = {"path": str(WRITE), "by_path": {"a/b": 1.0}}
    found = Holder.model_validate(reported)
    assert found.path == WRITE
    assert found.model_dump(mode="json") == reported
    assert Holder.model_validate_json(found.model_dump_json()) == found
    with pytest.raises(ValidationError):
        Holder.model_validate({"path": 3, "by_path": {}})


def test_a_step_that_was_not_traced_has_an_empty_path():
    row = ModelledStep(
        operation="write", step="a", modelled_s=1.0, traced=None, traced_s=None, count=0, error=None
    )
    assert row.model_dump(mode="json")["traced"] == ""


def test_the_deepest_trees_of_processes_are_walked_and_written():
    """A merged call profile may have 300 levels, which is too deep for nested validators. Such a
    profile can still be read and written."""
    node = tree_node("leaf", count=1)
    for number in range(300):
        node = tree_node(f"n{number}", node, count=1)
    profile = tree_profile(node)
    paths = [path for path, _ in walk(profile.roots)]
    assert len(paths) == 301
    assert paths[-1].names[-1] == "leaf"
    assert len({*paths}) == 301
    written = plain(profile)["roots"]
    for _ in range(300):
        written = written[0]["children"]
    assert written[0]["name"] == "leaf"
