"""Errors of input, reported in one line: file, key, value and what is allowed."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """The input is wrong: one clear line, exit code 2."""

    def __init__(self, key: str, value: Any, allowed: str, file: str = "") -> None:
        self.key, self.value, self.allowed, self.file = key, value, allowed, file
        super().__init__(str(self))

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file else ""
        shown = "" if self.value is None else f" = {_short(self.value)}"
        return f"{where}{self.key}{shown}: {self.allowed}".replace("\n", " ")

    def of(self, file: str) -> InputError:
        """The same error, naming the file it came from."""
        return InputError(self.key, self.value, self.allowed, file)


class RunFailed(Exception):
    """The run failed for a reason outside the input: one clear line, exit code 1."""


def unknown(name: str, allowed: list[str]) -> str:
    """The error text for a name that is not among `allowed`."""
    import difflib  # imported here because only errors need it

    close = difflib.get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"unknown; allowed: {', '.join(allowed)}{hint}"


def _short(value: Any) -> str:
    """The value as text, shortened in the middle, so that the end of a path stays visible."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:24]} ... {text[-51:]}"
