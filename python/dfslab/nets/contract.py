"""The interface of net formats: a net format reads nets from files, and may write nets.

A net format is one module that declares `TITLE` and `FORMAT`. The module is in `nets/formats` of
this package, in `nets/formats/` of a folder of DFSLAB_PATH, or behind an entry point of the group
`dfslab.net_formats`. The name of the module is the suffix of the format's files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dfslab import discover
from dfslab.documents.net_definition import NetDefinition
from dfslab.documents.net_run import NetFile


@dataclass(frozen=True)
class NetFormat:
    """A file format for nets. A file has one net.

    - `recognises(head)`: returns whether a file that begins with `head` is in this format.
    - `read(text)`: returns the flat definition of the net in a file, and the monitors that the file
      declares. Raises InputError if the text is malformed.
    - `write(net)`: returns the net as text; None if the format is only read.
    - `write_file(file)`: returns the net and its monitors as text; None if the format has no
      monitors.
    - `losses(file)`: returns a line for each property of a net that the written text lacks, with
      the number of nodes that have the property.
    - `encodings`: the encodings that a file may have, which are tried in order.
    """

    title: str
    recognises: Callable[[bytes], bool]
    read: Callable[[str], NetFile]
    write: Callable[[NetDefinition], str] | None = None
    encodings: tuple[str, ...] = ("utf-8",)
    write_file: Callable[[NetFile], str] | None = None
    losses: Callable[[NetFile], Sequence[str]] | None = None


def net_format(name: str) -> NetFormat:
    """Returns the net format called `name`. If there is none, raises InputError with the known
    names. If the format's module declares no format, raises DiscoveryError."""
    path = discover.named(discover.NET_FORMATS, name, "--as")
    return discover.declared(path, "FORMAT", NetFormat)


def net_formats() -> dict[str, NetFormat]:
    """Returns all net formats by name."""
    return {name: net_format(name) for name in discover.members(discover.NET_FORMATS)}
