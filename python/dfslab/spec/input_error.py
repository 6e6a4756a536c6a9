"""Errors of input, reported in one line: file, key, value, and what is allowed."""

from __future__ import annotations

import difflib
from typing import Any


class InputError(ValueError):
    """The user's input is wrong. The command prints one line (file, key, value, what is allowed)
    and exits with code 2.
    """

    def __init__(self, key: str, value: Any, allowed: str, file: str = "") -> None:
        self.key, self.value, self.allowed, self.file = key, value, allowed, file
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file else ""
        shown = "" if self.value is None else f" = {_short(self.value)}"
        return f"{where}{self.key}{shown}: {self.allowed}".replace("\n", " ")

    def of(self, file: str) -> InputError:
        """Returns the same error with the name of the file that contains the wrong value."""
        return InputError(self.key, self.value, self.allowed, file)


class RunFailed(Exception):
    """The run failed for a reason outside the input.

    The command prints the reason as one line and exits with code 1.
    """


class NothingLearnt(RunFailed):
    """Raised by a method that learns from measurements if it has to predict before anything was
    measured."""


def unknown(name: str, allowed: list[str]) -> str:
    """Returns the error text for an unknown name: the names that are allowed, and a similar name as
    a hint.
    """

    close = difflib.get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"unknown; allowed: {', '.join(allowed)}{hint}"


def _short(value: Any) -> str:
    """Returns a value as text, shortened in the middle to 80 characters, so that the end of a path
    stays visible.
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:24]} ... {text[-51:]}"
