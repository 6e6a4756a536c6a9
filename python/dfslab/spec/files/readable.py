"""Rewrites the quantities in a scenario's TOML text in units that people read.

The text of a scenario has every value exactly, such as "1452194563.5208616 B/s". A probed value is
known to few digits only, and "62914560.0 B/s" is easier to read as "62.91 MB/s".
"""

from __future__ import annotations

import math
import re

from dfslab.spec import units

# Number of significant digits of values that were probed or assumed, of which no more digits are
# known.
KNOWN_DIGITS = 4
# Number of significant digits with which a value does not change beyond the rounding of floats.
ALL_DIGITS = 15
_EQUAL = 1e-12
_QUANTITY = re.compile(r'"(?P<number>\d[\d.e+-]*) (?P<unit>B/s|1/s|Hz|s|KiB|MiB)"')
# The units whose number is a count of bytes, and the number of bytes that each stands for.
_BYTES = {"KiB": 1024.0, "MiB": 1024.0**2}


def rounded(text: str) -> str:
    """Returns a scenario's TOML text with its quantities rounded to KNOWN_DIGITS digits. Numbers of
    bytes keep their exact value unless they have more digits."""
    return _QUANTITY.sub(lambda found: _rewritten(found, KNOWN_DIGITS), text)


def unrounded(text: str) -> str:
    """Returns a scenario's TOML text with its quantities in other units. Each rewritten quantity
    can be read back to the same value, but for the rounding of floats."""
    return _QUANTITY.sub(lambda found: _rewritten(found, ALL_DIGITS), text)


def _rewritten(found: re.Match[str], digits: int) -> str:
    """Returns a quoted quantity in the unit of `units.text`. Returns the quantity unchanged if the
    new text would not be shorter. Also returns it unchanged if `digits` is ALL_DIGITS and the new
    text would have another value."""
    unit = "B" if found["unit"] in _BYTES else found["unit"]
    value = float(found["number"]) * _BYTES.get(found["unit"], 1.0)
    shown = f"0 {unit}" if value == 0 else units.text(value, unit, digits)
    if unit == "1/s" or "," in shown:
        shown = f"{value:.{digits}g} {unit}"
    is_same = math.isclose(units.parse(shown, unit), value, rel_tol=_EQUAL)
    if len(shown) + 2 >= len(found[0]) or (digits == ALL_DIGITS and not is_same):
        return found[0]
    return f'"{shown}"'
