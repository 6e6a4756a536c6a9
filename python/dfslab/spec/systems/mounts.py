"""Recognition of a file system by its mount, or by a server's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def nothing_understood(attributes: Mapping[str, str]) -> dict[str, Any]:
    """The default `understood`: extended attributes give no layout."""
    return {}


@dataclass(frozen=True, kw_only=True)
class KnownMount:
    """What the `existing.py` of a file system's folder declares, as `EXISTING`.

    mount_types, sources: file system types, and beginnings of sources, in the table of mounts.
    attributes: extended attributes of a directory that say how it is stored.
    understood(attributes): servers and layout read from these attributes.
    schemes: schemes of uris that `ask(uri, web_address)` answers; InputError when nobody does.
    """

    mount_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    understood: Callable[[Mapping[str, str]], dict[str, Any]] = nothing_understood
    schemes: tuple[str, ...] = ()
    ask: Callable[[str, str], dict[str, Any]] | None = None

    def matches(self, kind: str, source: str) -> bool:
        """Whether a mount of that type and source is one of this file system."""
        return kind in self.mount_types or any(source.startswith(one) for one in self.sources)
