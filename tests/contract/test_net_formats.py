"""Tests of the requirements that every discovered net format meets."""

from __future__ import annotations

import pytest
from dfslab import discover
from dfslab.nets import files
from dfslab.nets.build import Net
from dfslab.nets.colour import UNIT
from dfslab.nets.contract import net_format, net_formats
from dfslab.spec.input_error import InputError

NAMES = list(discover.members(discover.NET_FORMATS))
HEADS = {
    "json": b' {"name": "n"',
    "pnml": b'<?xml version="1.0"?>\n<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">',
    "cpn": b'<?xml version="1.0" encoding="iso-8859-1"?>\n<workspaceElements>',
}


def small_net() -> Net:
    net = Net("small")
    waiting = net.place("waiting", UNIT, [(), ()])
    net.transition("serve", [waiting])
    return net


def test_every_format_has_the_beginning_of_a_file():
    assert set(HEADS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_format_has_the_title_that_is_listed(name):
    path = discover.members(discover.NET_FORMATS)[name]
    assert net_format(name).title == discover.title(path)


@pytest.mark.parametrize(("name", "head"), HEADS.items())
def test_a_file_is_recognised_by_its_own_format_only(name, head):
    assert [other for other, one in net_formats().items() if one.recognises(head)] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_other_files_are_neither_recognised_nor_read(name):
    one = net_format(name)
    for other in (b"", b"\0", b"\xff" * 100, b"[]", b"name,value\n1,2\n"):
        assert not one.recognises(other)
    for text in ("", "\0", "[]", "name,value\n", "<a/>", "{}"):
        with pytest.raises(InputError):
            one.read(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_written_net_is_read_again(tmp_path, name):
    net = small_net().document()
    path = tmp_path / f"net.{name}"
    path.write_text(files.written(net, name))
    assert net_format(name).recognises(path.read_bytes()[: files.HEAD_BYTES])
    found = files.read(path)
    assert [one.name for one in found.transitions] == ["serve"]
    assert [len(one.initial) for one in found.places] == [2]


def test_an_unknown_form_is_refused_with_all_known_ones():
    with pytest.raises(InputError, match=r"must be one of svg, mermaid, cpn, json, pnml"):
        files.written(small_net().document(), "dot")
