"""The parts of a flat net before validation, as mappings with typed values.

The keys are those of the generated types in documents/net_definition. The parts are mappings, not
objects of these types, because validating each part separately takes five times as long as
validating the whole net once.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from dfslab.documents.net_definition import WrittenInscription, WrittenToken


class InputPart(TypedDict):
    """An input arc, which takes a token from `place`; inscriptions name the token `var`."""

    place: str
    var: NotRequired[str]


class OutputPart(TypedDict):
    """An output arc, which puts `count` tokens into `place` after `delay` seconds."""

    place: str
    token: NotRequired[WrittenToken]
    delay: NotRequired[WrittenInscription]
    count: NotRequired[WrittenInscription]


class InhibitPart(TypedDict):
    """An inhibitor arc, which blocks a transition while `place` has `at_least` tokens."""

    place: str
    at_least: int


class ResetPart(TypedDict):
    """A reset arc, which removes all tokens of `place`."""

    place: str


class LocalPart(TypedDict):
    """A value that a transition computes once for each firing."""

    name: str
    type: str
    value: WrittenInscription


# A class cannot have a field "in", which is a keyword of Python.
TransitionPart = TypedDict(
    "TransitionPart",
    {
        "name": str,
        "page": str,
        "in": list[InputPart],
        "out": list[OutputPart],
        "guard": NotRequired[str],
        "delay": NotRequired[WrittenInscription],
        "priority": NotRequired[int],
        "weight": NotRequired[float],
        "inhibit": NotRequired[list[InhibitPart]],
        "reset": NotRequired[list[ResetPart]],
        "locals": NotRequired[list[LocalPart]],
    },
)
