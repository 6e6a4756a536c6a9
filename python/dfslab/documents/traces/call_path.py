"""The path of a call in a trace. A path has the process and the step of each call, from the root
call to this call. A path is converted to text only for display and for JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from dfslab.documents.document import text_schema


@dataclass(frozen=True, eq=False)
class CallPath:
    """A call in a trace with its callers. `parent` is the path of the direct caller; None for a
    root call.

    `process` is the name of the process that executes the call. `process` is None if the caller
    runs in the same process, or if the trace names no processes. Two paths are equal if all their
    names from the root to the call are equal.
    """

    process: str | None
    step: str
    parent: CallPath | None = None
    # Names from the root to this call, stored because recursion over parents may be too deep.
    names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        above = self.parent.names if self.parent is not None else ()
        object.__setattr__(self, "names", (*above, self.name))

    @classmethod
    def of(cls, name: str, parent: CallPath | None = None) -> CallPath:
        """Returns the path of a call with the recorded name "process:step", or "step" alone, inside
        `parent`.
        """
        process, colon, step = name.rpartition(":")
        return cls(process if colon else None, step, parent)

    @classmethod
    def read(cls, text: str) -> CallPath:
        """Parses a path from text: names from the root, joined by "/"."""
        first, *others = text.split("/")
        path = cls.of(first)
        for name in others:
            path = cls.of(name, path)
        return path

    @property
    def name(self) -> str:
        """The recorded name of the call itself, without its calling context."""
        return self.step if self.process is None else f"{self.process}:{self.step}"

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of all steps from the root, without processes."""
        return tuple(name.rpartition(":")[2] for name in self.names)

    @property
    def within(self) -> str | None:
        """The process that executes the call; None where the trace names no processes."""
        path: CallPath | None = self
        while path is not None and path.process is None:
            path = path.parent
        return path.process if path is not None else None

    @property
    def origin(self) -> str | None:
        """The process of the path's root call. None where the root's name contains no process."""
        return CallPath.of(self.names[0]).process

    @property
    def processes(self) -> int:
        """Number of times that the path enters a process, counted from the root."""
        return sum(":" in name for name in self.names)

    def is_below(self, other: CallPath) -> bool:
        """Returns whether this call is inside the call `other`, at any depth."""
        many = len(other.names)
        return len(self.names) > many and self.names[:many] == other.names

    def is_at_or_below(self, other: CallPath) -> bool:
        """Returns whether this call is `other`, or is inside `other`."""
        return self.names[: len(other.names)] == other.names

    def ends_with(self, steps: str) -> bool:
        """Returns whether the path, written without processes, ends with `steps`."""
        return f"/{'/'.join(self.steps)}".endswith(f"/{steps}")

    def __str__(self) -> str:
        return "/".join(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallPath) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Lets pydantic read and write a path as its printed text."""
        return text_schema(cls, cls.read)
