"""The path of a step within an operation. The path has the names of the steps from the outermost
step to the step itself. A path is written as text only in results and tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from dfslab.documents.document import text_schema

# The escapes for a name in the text of a path. The text separates names by "/". A name may itself
# contain "/", or "~" with which escapes begin. Both characters are escaped as in RFC 6901 (JSON
# Pointer).
_ESCAPES = (("~", "~0"), ("/", "~1"))


class StepPath(NamedTuple):
    """A step with the steps around it. `names` has the names of all steps from the outermost step
    to the step itself, such as ("open", "getBlockLocations"). A name may contain "/"."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, *names: str) -> StepPath:
        """Returns the path with the names `names`, the outermost step first."""
        return cls(names)

    @classmethod
    def read(cls, text: str) -> StepPath:
        """Parses the text of a path, such as "open/getBlockLocations". "~1" stands for a "/" inside
        a name, and "~0" for "~"."""
        return cls(tuple(_unescaped(name) for name in text.split("/")))

    @property
    def parent(self) -> StepPath | None:
        """The path of the step directly around this step; None for an outermost step."""
        return StepPath(self.names[:-1]) if len(self.names) > 1 else None

    @property
    def outermost(self) -> StepPath:
        """The path of the outermost step, which may be this step itself."""
        return StepPath(self.names[:1])

    @property
    def is_outermost(self) -> bool:
        """Whether no other step is around this step."""
        return len(self.names) == 1

    def inner(self, name: str) -> StepPath:
        """Returns the path of the step `name` directly inside this step."""
        return StepPath((*self.names, name))

    def __str__(self) -> str:
        return "/".join(map(_escaped, self.names))

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Lets pydantic read and write a path as its text."""
        return text_schema(cls, cls.read)


def _escaped(name: str) -> str:
    for character, written in _ESCAPES:
        name = name.replace(character, written)
    return name


def _unescaped(name: str) -> str:
    for character, written in reversed(_ESCAPES):
        name = name.replace(written, character)
    return name
