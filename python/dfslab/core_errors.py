"""Rewrites errors of the Rust core about malformed JSON in the words of the document: the path of
the field, its value, and what is allowed.

The core's JSON reader names Rust types ("expected u32") and a position in the text ("at line 1
column 23"). A user knows neither. The path of the field follows from the text and the position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from dfslab import _core

# An error of the core's JSON reader: the name of the document, the reason, and the position of the
# last byte that was read. Lines and columns count from 1.
_ERROR = re.compile(
    r"(?P<document>[a-z0-9 ]+): (?P<reason>.+) at line (?P<line>\d+) column (?P<column>\d+)",
    re.DOTALL,
)
# What the user does if the core and the package disagree on the fields of a document.
OTHER_VERSION = (
    "the compiled core is of another version than the Python package; rebuild it (make setup) or "
    "reinstall dfslab"
)
_OTHER_FIELDS = (": is unknown; the fields are", ": is missing")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_NAMES = re.compile(r"`([^`]*)`")
_WHOLE = "a whole number"
_TYPES = (
    (re.compile(r"(?:u|i)(?:8|16|32|64|128|size)"), ""),
    (re.compile(r"f32|f64"), "a number"),
    (re.compile(r"bool|a boolean"), "true or false"),
    (re.compile(r"a string|string|a borrowed string|char|a character"), "a text"),
    (re.compile(r"a sequence|tuple struct .*|a tuple .*"), "a list"),
    (re.compile(r"a map|map|struct .*|internally tagged enum .*|an object.*"), "an object"),
    (re.compile(r"enum .*|string or map|variant .*"), "a name, or an object with one name"),
    (re.compile(r"unit|null"), "null"),
    (re.compile(r"option"), "a value or null"),
)
# Units of numbers, by the ends of the names of fields.
_UNITS = (
    ("_bytes_per_s", "bytes per second"),
    ("_per_s", "a rate per second"),
    ("_bytes", "bytes"),
    ("_ns", "nanoseconds"),
    ("_s", "seconds"),
)


@contextmanager
def translated(**texts: str) -> Iterator[None]:
    """A context that rewrites an InputError of the core raised in the body of the `with` statement.
    `texts`: the JSON texts that the body passes to the core, by the names of the documents (see
    `in_words`). Other errors pass unchanged."""
    try:
        yield
    except _core.InputError as error:
        raise _core.InputError(in_words(str(error), texts)) from None


@contextmanager
def from_types(**texts: str) -> Iterator[None]:
    """Like `translated`, for documents that the types of this package wrote. If such a document has
    a field that the core does not know, or lacks a field that the core needs, the error says that
    the core is of another version."""
    try:
        with translated(**texts):
            yield
    except _core.InputError as error:
        if any(phrase in str(error) for phrase in _OTHER_FIELDS):
            raise _core.InputError(f"{OTHER_VERSION} ({error})") from None
        raise


def in_words(message: str, texts: Mapping[str, str]) -> str:
    """Returns the error `message` of the core in the words of the JSON document that it is about,
    in one line. Returns the message unchanged if it is no error of the JSON reader, or if the
    document is not among `texts`.

    `texts` has the JSON texts by the name with which the core's messages begin: "net", "options",
    "stream", "plan", "report", "trace options" or "delay line". In the names, "_" stands for a
    space.
    """
    found = _ERROR.fullmatch(message)
    text = texts.get(found["document"].replace(" ", "_")) if found is not None else None
    if found is None or text is None:
        return message
    document, reason = found["document"], found["reason"]
    line, column = int(found["line"]), int(found["column"])
    before = text.encode().split(b"\n")[: line - 1]
    end = sum(len(one) + 1 for one in before) + column
    if not text.strip():
        return f"{document}: the JSON text is empty"
    if reason.startswith("EOF"):
        return f"{document}: the JSON text ends too early, in {_place(text, end).path or 'it'}"
    place = _place(text, end)
    for form, words in _FORMS:
        if (matched := form.fullmatch(reason)) is not None:
            return f"{document}: {words(matched, place)}"
    at = f"line {line}, column {column}"
    return f"{document}: is no valid JSON at {at}: {reason.replace('`', '')}"


@dataclass(frozen=True)
class _JsonPlace:
    """A place in a JSON text. `path`: the names of fields and the indices of list entries that lead
    to it, such as "places[0].name"; "" for the whole document. `value`: the last token before the
    place."""

    path: str
    value: str

    def of_field(self, name: str) -> str:
        """Returns the path of a field of the object at this place."""
        return f"{self.path}.{name}" if self.path else name


def _place(text: str, end: int) -> _JsonPlace:
    """Returns the place of the value that ends with the byte `end` (from 1) of a JSON text."""
    part = text.encode()[:end].decode(errors="ignore")
    open_parts: list[str | int] = []
    opened = list[bool]()  # for each open object or list, whether it is a list
    last, is_key = "", False
    for token in _TOKEN.findall(part):
        if token in "{[":
            opened.append(token == "[")
            open_parts.append(0 if token == "[" else "")
            is_key = token == "{"
        elif token in "}]" and opened:
            opened.pop()
            open_parts.pop()
            is_key = False
        elif token == "," and opened:
            if opened[-1]:
                open_parts[-1] = int(open_parts[-1]) + 1
            is_key = not opened[-1]
        elif is_key and token != ":":
            open_parts[-1] = token.strip('"')
            is_key = False
        if token not in ":,":
            last = token
    return _JsonPlace(_joined(open_parts), last)


def _joined(parts: list[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if part else ""
    return path.removeprefix(".")


def _allowed(expected: str, path: str) -> str:
    """Returns what is allowed, from the name of a Rust type and the path of the field."""
    if names := _NAMES.findall(expected):
        return f"must be one of {', '.join(names)}" if len(names) > 1 else f"must be {names[0]}"
    words = next((words for form, words in _TYPES if form.fullmatch(expected)), expected)
    if not words:
        words = _whole(expected)
    unit = next((unit for end, unit in _UNITS if path.endswith(end)), "")
    return f"must be {words} ({unit})" if unit and "number" in words else f"must be {words}"


def _whole(kind: str) -> str:
    """Returns the range of a Rust integer type in words."""
    bits = 64 if kind.endswith("size") else int(kind[1:])
    if kind[0] == "i":
        return f"{_WHOLE} from -2^{bits - 1} to 2^{bits - 1} - 1"
    return f"{_WHOLE} from 0 to 2^{bits} - 1"


def _wrong(found: re.Match[str], place: _JsonPlace) -> str:
    # The position of a wrong object or list is before its content, which is left out.
    is_container = found["kind"] in ("sequence", "map") or place.value in ("{", "[", "}", "]")
    value = "" if is_container else f" = {place.value}"
    where = place.path or "the document"
    return f"{where}{value}: {_allowed(found['expected'], place.path)}"


def _missing(found: re.Match[str], place: _JsonPlace) -> str:
    return f"{place.of_field(found['name'])}: is missing"


def _unknown(found: re.Match[str], place: _JsonPlace) -> str:
    names = ", ".join(_NAMES.findall(found["expected"] or "")) or "none"
    # The path of an unknown field ends with its own name.
    return f"{place.path or found['name']}: is unknown; the fields are {names}"


def _duplicate(found: re.Match[str], place: _JsonPlace) -> str:
    return f"{place.path or found['name']}: is given twice"


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], _JsonPlace], str]], ...] = (
    (
        re.compile(r"invalid (?:type|value|length):? (?P<kind>.*?), expected (?P<expected>.+)"),
        _wrong,
    ),
    (
        re.compile(r"unknown variant (?P<kind>`.*?`), (?:expected|there are) (?P<expected>.+)"),
        _wrong,
    ),
    (re.compile(r"missing field `(?P<name>.*)`"), _missing),
    (re.compile(r"unknown field `(?P<name>.*)`, (?:expected|there are)(?P<expected>.*)"), _unknown),
    (re.compile(r"duplicate field `(?P<name>.*)`"), _duplicate),
)
