"""Reads and writes the definitions of nets as JSON, the format that the net engine reads."""

from __future__ import annotations

import json

from pydantic import ValidationError

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import NetFile
from dfslab.nets import engine
from dfslab.nets.contract import NetFormat
from dfslab.nets.net_json import ordered
from dfslab.spec.model import InputError

TITLE = "Net definition as JSON"


def recognises(head: bytes) -> bool:
    """Returns whether a file begins with a JSON object."""
    return head.lstrip().startswith(b"{")


def read(text: str) -> NetFile:
    """Returns the net of a JSON document, which declares no monitors. Raises InputError with the
    message of the engine if the definition is invalid."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("json", None, f"is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError("json", type(found).__name__, "a net is an object")
    try:
        return NetFile(net=NetDefinition.model_validate(found))
    except ValidationError as error:
        first = error.errors()[0]
    name = str(found.get("name", "?"))
    engine.check_text(json.dumps(found), name)
    where = ".".join(map(str, first["loc"]))
    raise InputError(f"net {name}, {where}", first["input"], first["msg"])


def write(net: NetDefinition) -> str:
    """Returns the definition of a net as JSON. The keys are in an order that suits human
    readers."""
    return json.dumps(ordered(net), indent=1) + "\n"


FORMAT = NetFormat(TITLE, recognises, read, write)
