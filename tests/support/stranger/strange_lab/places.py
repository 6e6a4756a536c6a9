"""A net format. The first line of a file is HEAD. Each further line is the name of a place."""

from __future__ import annotations

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import NetFile
from dfslab.nets.contract import NetFormat

TITLE = "Places, one in a line"
HEAD = "#places"


def recognises(head: bytes) -> bool:
    """Returns whether the first line is HEAD."""
    return head.startswith(f"{HEAD}\n".encode())


def read(text: str) -> NetFile:
    """Returns a net with the places of all lines but the first, and without transitions."""
    places = [{"name": line, "colour": "unit"} for line in text.splitlines()[1:]]
    net = {"name": "places", "colours": {"unit": []}, "places": places, "transitions": []}
    return NetFile(net=NetDefinition.model_validate(net))


def write(net: NetDefinition) -> str:
    """Returns the text of a file: the line HEAD, and a line with the name of each place."""
    return "".join(f"{line}\n" for line in (HEAD, *(place.name for place in net.places)))


FORMAT = NetFormat(TITLE, recognises, read, write)
