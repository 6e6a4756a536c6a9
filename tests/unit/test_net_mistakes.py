"""Tests that a malformed net file gives a one-line error in the words of its format, and that nets
without transitions are read in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from dfslab.nets import engine, files
from dfslab.spec.input_error import InputError

from tests.support import command

NET = (
    '{"name": "n", "colours": {"unit": []}, "places": [{"name": "a", "colour": "unit"}], '
    '"transitions": []'
)
JSON = {
    "[1]": "is a list; a net is an object",
    "null": "is null; a net is an object",
    "3": "is a number; a net is an object",
    '{"name": NaN}': "NaN",
    '{"name": %s}' % ("9" * 5000): "a number with too many digits",
    "[" * 100_000: "nested too deeply",
    "": "is empty",
    NET + ',\n"places": 3}': "places: is given twice",
    NET + ',\n"functions": {"f": 1}}': "functions.f = 1: must be an object",
    NET + ',\n"constants": {"c": "1"}}': 'constants.c = "1": must be a JSON number',
    NET + ',\n"tables": {"h": {"edges": [1, 0], "weights": [1]}}}': "edges[1] is 0; the",
    NET + ',\n"tables": {"h": {"edges": [0, 1], "weights": [-1]}}}': "weights[0] is -1;",
    NET + ',\n"tables": {"h": {"edges": [0], "weights": []}}}': "has 1 edges and 0 w",
    NET + ',\n"tables": {"h": {"edges": [0, 1], "weights": [0]}}}': "the sum of the weights is 0;",
}
# Texts that only appear in errors of Python or Rust. No message may contain them.
RAW = re.compile(r"sys\.|NoneType|\bint\b|\bdict\b|struct |object at|Traceback")
PROTOCOL = Path(__file__).parents[2] / "scenarios" / "nets" / "protocol.cpn"
PNML = "http://www.pnml.org/version-2009/grammar"


@pytest.mark.parametrize("text", JSON)
def test_a_wrong_definition_is_refused_in_the_words_of_json(text, tmp_path):
    path = tmp_path / "net.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as found:
        engine.check(files.read(path))
    message = str(found.value)
    assert JSON[text] in message
    assert not RAW.search(message)
    assert len(message.splitlines()) == 1


def test_a_fusion_set_of_an_id_that_no_place_has_is_refused(tmp_path):
    text = PROTOCOL.read_text(encoding="utf-8")
    path = tmp_path / "net.cpn"
    fusion = '<fusion id="f" name="Shared"><fusion_elm idref="ID9"/></fusion>'
    path.write_text(text.replace("</cpnet>", f"{fusion}</cpnet>"), encoding="utf-8")
    with pytest.raises(InputError, match="fusion Shared, idref = 'ID9': is the id of no place"):
        files.read(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_determines_the_encoding(encoding, tmp_path):
    path = tmp_path / "net.cpn"
    path.write_text(PROTOCOL.read_text(encoding="utf-8"), encoding=encoding)
    assert files.read(path) == files.read(PROTOCOL)


@pytest.mark.parametrize("kind", ["ptnet", "symmetricnet"])
def test_a_net_of_places_alone_is_read(kind, tmp_path):
    path = tmp_path / "net.pnml"
    path.write_text(
        f'<pnml xmlns="{PNML}"><net id="n" type="{PNML}/{kind}"><page id="p">'
        '<place id="a"/></page></net></pnml>',
        encoding="utf-8",
    )
    sizes = engine.check(files.read(path))
    assert (sizes.places, sizes.transitions) == (1, 0)


def test_the_printed_state_space_has_no_values_of_python(tmp_path):
    path = tmp_path / "net.json"
    path.write_text(NET + "}", encoding="utf-8")
    printed = command.dfslab("net", "check", path).stdout
    assert not re.search(r"[\[\]{}']|True|False|None", printed)
    assert re.search(r"complete\W+yes", printed)


def test_the_state_space_of_a_net_that_grows_has_no_finite_bounds(tmp_path):
    path = tmp_path / "net.json"
    net = {
        "name": "n",
        "colours": {"unit": []},
        "places": [
            {"name": "source", "colour": "unit", "initial": [[]]},
            {"name": "queue", "colour": "unit"},
        ],
        "transitions": [
            {
                "name": "arrive",
                "in": [{"place": "source"}],
                "out": [{"place": "source"}, {"place": "queue"}],
            }
        ],
    }
    path.write_text(json.dumps(net), encoding="utf-8")
    printed = command.dfslab("net", "check", path, "--markings", "50").stdout
    assert re.search(r"tokens in queue\W+0 to at least 49\b", printed)
    assert "queue: arrive × 49" in printed
    assert "not known: more than 50 markings exist (--markings)" in printed
    assert "delays and time stamps order no firings" in printed
