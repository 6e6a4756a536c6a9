"""Errors in the files of members (plug-ins), reported in one line: file, line and reason."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType

from dfslab.spec.input_error import unknown

MOST_CHARACTERS = 400


class DiscoveryError(Exception):
    """Raised if the file of a member violates the interface of the member's type.

    The message names the file and the reason.
    """


class MemberValueError(DiscoveryError):
    """A member gives a value that is not allowed. The message has the value and what is allowed.
    Code that knows the member's file adds the file and the line (`located`)."""


def fault(error: BaseException, places: Iterable[Path]) -> str | None:
    """Returns "FILE:LINE: reason" for an exception that code of a member raised or caused; None if
    no code of a member took part.

    `places`: the files and folders with the code of members. FILE and LINE are the last place in
    this code that was executed.
    """
    where = _where(error, tuple(places))
    return None if where is None else f"{where}: {reason(error)}"


def located(error: BaseException, path: Path, places: Iterable[Path]) -> DiscoveryError:
    """Returns a DiscoveryError with the file, the line and the reason of an exception that the
    member in the file (or folder) `path` caused. `places`: as for `fault`. The line is left out if
    the member's code did not raise the exception itself, for example if a function of the member
    takes other arguments."""
    return DiscoveryError(fault(error, (path, *places)) or f"{path}: {reason(error)}")


def reason(error: BaseException) -> str:
    """Returns an exception as one line of limited length: its type and its message. The type is
    left out if the message was written for users: a DiscoveryError, or an AssertionError with a
    message."""
    if isinstance(error, SyntaxError):
        text = f"SyntaxError: {error.msg}"
    elif isinstance(error, DiscoveryError) or (isinstance(error, AssertionError) and error.args):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} …"


def unlisted(value: object, allowed: Iterable[str]) -> str:
    """Returns the text for a value that is none of the `allowed` ones: the value, and what is
    allowed, with a similar allowed value as a hint."""
    return f"{value!r} is {unknown(str(value), list(allowed))}"


def defined_at(function: object) -> str:
    """Returns "FILE:LINE" of the definition of a function, or the text of `function` if it is not a
    Python function."""
    if not isinstance(function, FunctionType):
        return repr(function)
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _where(error: BaseException, places: tuple[Path, ...]) -> str | None:
    """Returns "FILE:LINE" of the innermost line of an exception's traceback that is in one of
    `places`. For a SyntaxError in one of `places`, returns the wrong line."""
    if isinstance(error, SyntaxError) and _is_in(error.filename or "", places):
        return f"{error.filename}:{error.lineno}"
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_in(frame.f_code.co_filename, places)
    ]
    return "{}:{}".format(*lines[-1]) if lines else None


def _is_in(file: str, places: tuple[Path, ...]) -> bool:
    return any(Path(file).is_relative_to(place) for place in places)
