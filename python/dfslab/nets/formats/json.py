"""Reads and writes the definitions of nets as JSON, the format that the net engine reads."""

from __future__ import annotations

import json
from types import NoneType

from pydantic import ValidationError

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import NetFile
from dfslab.nets import engine
from dfslab.nets.contract import NetFormat
from dfslab.nets.net_json import ordered
from dfslab.spec.input_error import InputError

TITLE = "Net definition as JSON"
# The names of JSON types in error messages, by the Python type to which a value is read.
KINDS = {
    NoneType: "null",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
}


def recognises(head: bytes) -> bool:
    """Returns whether a file begins with a JSON object."""
    return head.lstrip().startswith(b"{")


def read(text: str) -> NetFile:
    """Returns the net of a JSON document, which declares no monitors. Raises InputError with the
    message of the engine if the definition is invalid."""
    found = _parsed(text)
    if not isinstance(found, dict):
        raise InputError("json", None, f"is {KINDS[type(found)]}; a net is an object")
    try:
        # In the strict mode, a text such as "1" does not stand for a number.
        return NetFile(net=NetDefinition.model_validate_json(text, strict=True))
    except ValidationError as error:
        first = error.errors()[0]
    name = str(found.get("name", "?"))
    engine.check_text(text, name)
    where = ".".join(map(str, first["loc"]))
    raise InputError(f"net {name}, {where}", first["input"], first["msg"])


def _parsed(text: str) -> object:
    """Returns the value of a JSON document. Raises InputError if the text is no JSON, or if it is
    nested too deeply or contains a number that is too long."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError("json", None, f"is no JSON: {error.msg}: {place}") from None
    except RecursionError:
        raise InputError("json", None, "is nested too deeply") from None
    except InputError:
        raise
    except ValueError:
        # Python refuses to convert integers of more than some thousand digits.
        raise InputError("json", None, "contains a number with too many digits") from None


def _refuse_constant(name: str) -> object:
    """Raises InputError for NaN and infinities, which Python accepts in JSON."""
    raise InputError("json", name, "is no number of JSON")


def write(net: NetDefinition) -> str:
    """Returns the definition of a net as JSON. The keys are in an order that suits human
    readers."""
    return json.dumps(ordered(net), indent=1) + "\n"


FORMAT = NetFormat(TITLE, recognises, read, write)
