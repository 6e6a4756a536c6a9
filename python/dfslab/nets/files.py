"""Reads nets from files and writes nets as text. The formats are net definitions in JSON, PNML
(place/transition nets and symmetric nets), and `.cpn` files of CPN Tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import NetFile
from dfslab.nets import draw, engine
from dfslab.nets.cpn import cpn_read as cpn
from dfslab.nets.cpn import cpn_write
from dfslab.nets.net_json import ordered
from dfslab.nets.pnml import pnml_read as pnml
from dfslab.spec.files import inputs
from dfslab.spec.model import InputError

BYTES_MOST = 50_000_000
HEAD_BYTES = 4096


def _json(text: str) -> NetDefinition:
    """Parses a net definition in JSON. Raises InputError with the message of the engine if the
    definition is invalid."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("json", None, f"is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError("json", type(found).__name__, "a net is an object")
    try:
        return NetDefinition.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
    name = str(found.get("name", "?"))
    engine.check_text(json.dumps(found), name)
    where = ".".join(map(str, first["loc"]))
    raise InputError(f"net {name}, {where}", first["input"], first["msg"])


def _decoded(data: bytes, suffix: str) -> str:
    """Decodes the bytes of a file as UTF-8. A `.cpn` file of CPN Tools may be encoded in ISO 8859-1
    instead."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if suffix != ".cpn":
            raise
        return data.decode("iso-8859-1")


READERS: Mapping[str, Callable[[str], NetFile]] = {
    ".json": lambda text: NetFile(net=_json(text)),
    ".pnml": lambda text: NetFile(net=pnml.read(text)),
    ".cpn": cpn.read_file,
}
FORMS = ("svg", "mermaid", "pnml", "cpn", "json")


def _recognised(data: bytes) -> str:
    """Determines the format of a net from the beginning of its content. Returns the usual file name
    suffix of that format."""
    if data.lstrip().startswith(b"{"):
        return ".json"
    return ".pnml" if b"<pnml" in data[:HEAD_BYTES] else ".cpn"


def read(path: Path) -> NetDefinition:
    """Reads a file as `read_file` does, and returns the flat definition of its net."""
    return read_file(path).net


def read_file(path: Path) -> NetFile:
    """Reads a file, which may be compressed with gzip. Returns the flat definition of its net, and
    the monitors that the file declares; only `.cpn` files declare monitors.

    The suffix of the file determines the format. For a pipe whose name has no suffix of `READERS`,
    the content determines it. Raises InputError for an unknown suffix or invalid content.
    """
    data = inputs.content("FILE", path, BYTES_MOST)
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in READERS:
        if path.is_file():
            raise InputError("FILE", path.name, f"must end in {', '.join(READERS)}")
        suffix = _recognised(data)
    try:
        text = _decoded(data, suffix)
    except UnicodeDecodeError:
        raise InputError("FILE", str(path), "is no UTF-8 text") from None
    try:
        return READERS[suffix](text)
    except RecursionError:
        raise InputError("FILE", str(path), "is nested too deeply") from None
    except InputError as error:
        raise error.of(str(path)) from error


def written(net: NetDefinition, form: str, page: str = "") -> str:
    """Returns a net as text in the format `form`, which is one of `FORMS`. `page`: the only page to
    draw if the format is a picture; "": all pages."""
    if form == "svg":
        return draw.svg(net, page=page)
    if form == "mermaid":
        return draw.mermaid(net, page=page)
    if form not in FORMS:
        raise InputError("--as", form, f"must be one of {', '.join(FORMS)}")
    if page:
        raise InputError("--page", page, "is for pictures: svg, mermaid")
    if form == "json":
        return json.dumps(ordered(net), indent=1) + "\n"
    return pnml.write(net) if form == "pnml" else cpn_write.write(net)
