"""Converts between quantities as people write them ("64 MiB", "1 Gbit/s", "0.5 ms") and numbers in
SI units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field, PlainSerializer

if TYPE_CHECKING:
    import pint

_EXAMPLES = {
    "B": '"64 MiB" or "4 kB"',
    "s": '"0.5 ms" or "30 s"',
    "B/s": '"1 Gbit/s" or "60 MiB/s"',
    "Hz": '"2.5 GHz"',
    "1/s": '"100 /s"',
    "W": '"95 W"',
}
_KINDS = {
    "B": "a size",
    "s": "a time",
    "B/s": "a rate in bytes",
    "Hz": "a frequency",
    "1/s": "a rate",
}
_BARE_UNIT = re.compile(r"^\s*[-+]?[\d.]+(?:e[-+]?\d+)?\s*$", re.IGNORECASE)
_NUMBER_FIRST = re.compile(r"^[\s(+-]*(?:\.?\d|inf|nan)", re.IGNORECASE)
# The usual notation of a quantity: a number and a unit. Other texts are parsed by the library pint.
# The library is not used for the usual notation, because it loads slowly.
_PLAIN = re.compile(r"^\s*((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(1?[A-Za-z/µ]+)\s*$")
_BINARY = {"KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
# A size such as "4kb": bits in some programs, and 1024 or 1000 bytes in others.
_AMBIGUOUS = re.compile(r"^\s*([\d.]+)\s*([kmgt])b\s*$")
# A rate of a link in a notation that is not accepted, such as "10 gbps", "10Gb" or "10 GBit/s".
_OF_LINK = re.compile(r"^\s*([\d.]+)\s*([kKmMgGtT])(?:[bB]its?|b|bps)(?:/s)?\s*$")
# Suffixes in the notation of fio, dd and other tools, in which "64k" means 64 KiB.
_SUFFIXES = {
    name: size
    for prefix, size in (("k", 2.0**10), ("m", 2.0**20), ("g", 2.0**30), ("t", 2.0**40))
    for name in (prefix, prefix.upper())
}
_SI = {"k": "k", "m": "M", "g": "G", "t": "T"}
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BYTES = {**_BINARY, **{f"{prefix}B": size for prefix, size in _DECIMAL.items()}}
FACTORS: dict[str, dict[str, float]] = {
    "B": _BYTES,
    "B/s": {
        **{f"{name}/s": size for name, size in _BYTES.items()},
        **{f"{prefix}bit/s": size / 8 for prefix, size in _DECIMAL.items()},
    },
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "Hz": {f"{prefix}Hz": size for prefix, size in _DECIMAL.items() if prefix != "K"},
    "1/s": {"/s": 1.0, "1/s": 1.0},
    "W": {"mW": 1e-3, "W": 1.0, "kW": 1e3},
}
# The SI units of parameters. A quotient of two of these units is also allowed.
SI_PARTS = ("1", "s", "B", "Hz", "W", "J")
SI_ALLOWED = f"must be an SI unit: one of {', '.join(SI_PARTS)}, or a quotient such as s/B"
# "K" is accepted as well as "k", because pint knows only the SI prefix "k".
_KILO = re.compile(r"\bK(B|bit|b)\b")


# The longest text that is read as a whole number. Python refuses texts of more than 4300 digits.
_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """Returns the number in a text of 1 to 18 ASCII digits; None for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


def is_si(unit: str) -> bool:
    """Returns whether `unit` is an SI unit in which parameters are declared, such as "s" or
    "s/B"."""
    return 1 <= len(parts := unit.split("/")) <= 2 and all(one in SI_PARTS for one in parts)


@lru_cache(maxsize=1)
def _registry() -> pint.UnitRegistry[float]:
    import pint

    return pint.UnitRegistry(cache_folder=None)


# The smallest number of bytes, apart from 0, that is accepted without a unit: a sector of a disk.
# A user who writes a smaller number almost always means KiB or MiB.
LEAST_BARE_BYTES = 512
# The largest quantity that is accepted. Larger ones are typing errors: no machine has 10^24 bytes,
# and products of larger numbers overflow.
LARGEST = 1e24


@lru_cache(maxsize=1024)
def parse(text: str, unit: str) -> float:
    """Converts `text` to a number in the SI `unit` ("B", "s", "B/s", "Hz", "1/s", "W").

    Raises ValueError if the text is not a quantity in this unit. The error states what is allowed.
    """
    allowed = f"a quantity like {_EXAMPLES[unit]}"
    if _BARE_UNIT.match(text):
        raise ValueError(f"needs a unit, {allowed}")
    if text.lstrip().startswith("+"):
        raise ValueError(f'must have no "+", {allowed}')
    if not _NUMBER_FIRST.match(text):
        # A text without a number, such as "GB/s", is refused, because pint would read it as 1 GB/s.
        raise ValueError(f"{_reason(text, unit)}{allowed}")
    magnitude = plainly(text, unit)
    if magnitude is None:
        try:
            magnitude = by_pint(text, unit)
        # pint raises errors of many types, including those of its tokenizer
        except Exception as error:
            raise ValueError(f"{_reason(text, unit)}{allowed}") from error
    if not math.isfinite(magnitude) or magnitude < 0:
        raise ValueError(f"must be finite and not negative, {allowed}")
    if magnitude > LARGEST:
        raise ValueError(f"must be at most {LARGEST:g} {unit}, {allowed}")
    return magnitude


def _reason(text: str, unit: str) -> str:
    """Returns the beginning of the message for a text that is not a quantity in `unit`. If the text
    is a quantity of another kind, the message names that kind. If it is a size with a small "b",
    the message names two clear spellings. If it is the rate of a link, the message suggests a
    spelling in bit/s."""
    if unit == "B" and (found := _AMBIGUOUS.match(text)):
        number, prefix = found[1], found[2]
        clear = f"{number}{prefix} ({number} {prefix.upper()}iB) or {number} {_SI[prefix]}B"
        return f"is ambiguous: write {clear}, "
    if unit == "B/s" and (found := _OF_LINK.match(text)):
        return (
            f'is not a rate in bytes; did you mean "{found[1]} {_SI[found[2].lower()]}bit/s"? Use '
        )
    for other, kind in _KINDS.items():
        if other != unit and plainly(text, other) is not None:
            return f"is {kind}; needs {_KINDS[unit]}: "
    return "is not "


def is_unit(word: str) -> bool:
    """Returns whether a word is a unit in the usual notation, such as "MiB", "k" or "min"."""
    return word in _SUFFIXES or any(word in factors for factors in FACTORS.values())


def plainly(text: str, unit: str) -> float | None:
    """Converts `text` to a number in the SI `unit` if it is in the usual notation; returns None for
    other notations.
    """
    found = _PLAIN.match(text)
    if not found:
        return None
    suffixes = _SUFFIXES if unit == "B" else {}
    factor = FACTORS[unit].get(found[2], suffixes.get(found[2]))
    return None if factor is None else float(found[1]) * factor


def by_pint(text: str, unit: str) -> float:
    """Converts a text to a number in the SI `unit` by pint. Raises pint's errors, which have many
    types.
    """
    quantity = _registry().parse_expression(_KILO.sub(r"k\1", text.strip()))
    return _convert(quantity, unit)


def _convert(quantity: object, unit: str) -> float:
    """Converts a pint quantity to a number in the SI `unit`. Raises ValueError if only the quantity
    or only `unit` is in bits or bytes. Pint would allow this conversion, because it treats bits and
    bytes as dimensionless."""
    import pint

    if not isinstance(quantity, pint.Quantity):
        raise ValueError("a number without a unit")
    text = str(quantity.units)
    information = "bit" in text or "byte" in text
    if information != unit.startswith("B"):
        raise ValueError("information units only where bytes are meant")
    target = {
        "B": "byte",
        "s": "second",
        "B/s": "byte/second",
        "Hz": "hertz",
        "1/s": "1/second",
        "W": "watt",
    }
    if unit == "Hz" and "hertz" not in text:
        raise ValueError("a frequency is given in hertz")
    return float(quantity.to(target[unit]).magnitude)


_STEPS: dict[str, list[tuple[str, float]]] = {
    "B": [("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)],
    "B/s": [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1)],
    "s": [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)],
    "Hz": [("GHz", 1e9), ("MHz", 1e6), ("Hz", 1)],
    "1/s": [("/s", 1)],
    "W": [("kW", 1e3), ("W", 1)],
}


def text(value: float, unit: str, digits: int = 4) -> str:
    """Returns `value`, given in the SI `unit`, as text with `digits` significant digits. The text
    has the largest of several units, such as B, KiB and MiB, that does not exceed the value. If all
    units exceed the value, the text has the smallest unit. A unit that is not in _STEPS is written
    unchanged, and the unit "1" is omitted."""
    if unit not in _STEPS:
        return f"{value:.{digits}g} {unit}".strip() if unit != "1" else f"{value:.{digits}g}"
    for name, size in _STEPS[unit]:
        if abs(value) >= size or size == _STEPS[unit][-1][1]:
            shown = f"{value / size:.{digits}g}"
            # Write large numbers with separators instead of exponents such as 1.23e+03.
            return f"{value / size:,.0f} {name}" if "e+" in shown else f"{shown} {name}"
    raise AssertionError("the last step always fits")


def exact(value: float, unit: str) -> str:
    """Returns `value` as text that `parse` converts back to the same value."""
    if unit == "B":
        for name, size in _STEPS["B"]:
            if value and value % size == 0:
                return f"{int(value // size)} {name}"
    return f"{value!r} {'B' if unit == 'B' else unit}"


def bare_bytes(value: float) -> float:
    """Returns a number of bytes that is written without a unit.

    Raises ValueError if the number is between 0 and LEAST_BARE_BYTES, because such a number rarely
    means bytes. The error proposes clear spellings.
    """
    number = float(value)
    if 0 < number < LEAST_BARE_BYTES:
        clear = f'"{number:g} MiB", "{number:g} KiB" or "{number:g} B"'
        raise ValueError(f"needs a unit: write {clear}")
    return number


def _validator(unit: str, is_written: bool = True) -> Callable[[object], float]:
    """Returns the function that converts a value of a field to a number in the SI `unit`.

    `is_written`: whether people write the values. If programs count them, each number is
    accepted.
    """

    def check(value: object) -> float:
        if isinstance(value, bool):
            raise ValueError(f"is not a quantity like {_EXAMPLES[unit]}")
        if isinstance(value, str):
            number = parse(value, unit)
        elif isinstance(value, int | float) and (unit == "B" or value == 0):
            number = float(value)
            if number < 0 or not math.isfinite(number):
                raise ValueError("must be finite and not negative")
            number = bare_bytes(number) if is_written else number
            if number > LARGEST:
                raise ValueError(f"must be at most {LARGEST:g} {unit}")
        elif isinstance(value, int | float):
            raise ValueError(f"needs a unit, a quantity like {_EXAMPLES[unit]}")
        else:
            raise ValueError(f"is not a quantity like {_EXAMPLES[unit]}")
        return number

    return check


def _quantity(unit: str, is_written: bool = True) -> tuple[BeforeValidator, PlainSerializer, str]:
    # After validation, the value is a plain float. The value is written with its unit, so that the
    # scenario's TOML text can be read again.
    return (
        BeforeValidator(_validator(unit, is_written)),
        PlainSerializer(lambda value: exact(value, unit), when_used="unless-none"),
        unit,
    )


def quantity(written: str, description: str) -> float:
    """Returns a model's field whose default is the text `written` with a unit, parsed like
    input.
    """
    # The validator of the field's type converts the default text to a number.
    field: float = Field(written, description=description, validate_default=True)
    return field


_bytes, _seconds, _rate, _hertz, _per_s, _watts = map(
    _quantity, ("B", "s", "B/s", "Hz", "1/s", "W")
)
Bytes = Annotated[float, *_bytes]
# Bytes that a program counted: small numbers without a unit are accepted.
CountedBytes = Annotated[float, *_quantity("B", is_written=False)]
Seconds = Annotated[float, *_seconds]
BytesPerSecond = Annotated[float, *_rate]
Hertz = Annotated[float, *_hertz]
PerSecond = Annotated[float, *_per_s]
Watts = Annotated[float, *_watts]
