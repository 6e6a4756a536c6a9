"""Reads nets from files, and writes nets as text or pictures. Discovery finds the formats of files
(nets/contract.py)."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from dfslab import discover
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import FileMonitors, NetFile
from dfslab.nets import draw
from dfslab.nets.contract import NetFormat, net_format, net_formats
from dfslab.nets.losses import Loss, lines
from dfslab.spec.files import inputs
from dfslab.spec.input_error import InputError

BYTES_MOST = 50_000_000
HEAD_BYTES = 4096
# The encodings of files that begin with a byte order mark, as editors on Windows write it.
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class Picture(Protocol):
    """A function that draws a net, or only one page of the net."""

    def __call__(self, net: NetDefinition, *, page: str) -> str: ...


PICTURES: Mapping[str, Picture] = {"svg": draw.svg, "mermaid": draw.mermaid}


def suffixes() -> list[str]:
    """Returns the suffixes of files with nets, such as ".pnml"."""
    return [f".{name}" for name in discover.members(discover.NET_FORMATS)]


def read(path: Path) -> NetDefinition:
    """Reads a file as `read_file` does, and returns the flat definition of its net."""
    return read_file(path).net


def read_file(path: Path) -> NetFile:
    """Reads a file, which may be compressed with gzip. Returns the flat definition of its net, and
    the monitors that the file declares; only `.cpn` files declare monitors.

    The suffix of the file determines the format. For a pipe whose name has no suffix of a net
    format, the content determines the format. Raises InputError for an unknown suffix or invalid
    content.
    """
    data = inputs.content("FILE", path, BYTES_MOST)
    found = _format_of(path, data)
    text = _decoded(data, found)
    if text is None:
        raise InputError("FILE", str(path), "is no UTF-8 text")
    if not text.strip():
        raise InputError("FILE", str(path), "is empty")
    try:
        return found.read(text)
    except RecursionError:
        raise InputError("FILE", str(path), "is nested too deeply") from None
    except InputError as error:
        raise error.of(str(path)) from error


def _format_of(path: Path, data: bytes) -> NetFormat:
    suffix, known = Path(path.name.removesuffix(".gz")).suffix, suffixes()
    if suffix in known:
        return net_format(suffix.removeprefix("."))
    if not path.is_file():
        for one in net_formats().values():
            if one.recognises(data[:HEAD_BYTES]):
                return one
    raise InputError("FILE", path.name, f"must end in {', '.join(known)}")


def _decoded(data: bytes, found: NetFormat) -> str | None:
    """Returns the text of a file. A byte order mark determines the encoding. Without such a mark,
    the encoding is the first one of the file's format in which the file is valid. Returns None if
    there is no such encoding."""
    marked = [encoding for mark, encoding in MARKS.items() if data.startswith(mark)]
    for encoding in marked or found.encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def written(
    net: NetDefinition, form: str, page: str = "", monitors: FileMonitors | None = None
) -> str:
    """Returns a net as text in the format `form`: a kind of picture, or a net format that can be
    written. `page` is the only page to draw; "" means all pages. `monitors` are written if the
    format has monitors. Raises InputError if there is no such format, or if `page` is given for a
    net format."""
    if form in PICTURES:
        return PICTURES[form](net, page=page)
    writers = _writers()
    if form not in writers:
        allowed = f"must be one of {', '.join((*PICTURES, *writers))}"
        raise InputError("--as", form, allowed)
    if page:
        raise InputError("--page", page, f"is for pictures: {', '.join(PICTURES)}")
    write_file = net_formats()[form].write_file
    if monitors is not None and write_file is not None:
        return write_file(NetFile(net=net, monitors=monitors))
    return writers[form](net)


def losses(file: NetFile, form: str) -> list[str]:
    """Returns a line for each property of a net that its text in the format `form` lacks. Pictures
    are no formats that a program reads, so nothing is listed for pictures."""
    one = net_formats().get(form)
    if one is None:
        return []
    found = list(one.losses(file)) if one.losses is not None else []
    if one.write_file is None:
        monitors = file.monitors
        number = len(monitors.measured) + len(monitors.breakpoints) + len(monitors.refused)
        found += lines(form, [Loss("monitors", number, "monitor", "left out")])
    return found


def _writers() -> dict[str, Callable[[NetDefinition], str]]:
    return {name: one.write for name, one in net_formats().items() if one.write is not None}
