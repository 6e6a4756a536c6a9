"""Recognises numbers in plain digits, as scenarios and options have them.

Python's int() and float(), and pydantic, also accept texts that are refused here. These are "+3",
which looks like a change by 3, and "1_0", " 3 " and digits of other scripts.
"""

from __future__ import annotations

import re

_PLAIN_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
# The text of error messages that states what is allowed.
PLAIN = 'must be a number in plain digits, such as 3: no "+", space or _'


def is_plain_number(text: str) -> bool:
    """Returns whether a text is a number in plain digits, such as "3", "-0.5" or "1e6"."""
    return _PLAIN_NUMBER.fullmatch(text) is not None


def is_odd_number(text: str) -> bool:
    """Returns whether Python reads a text as a number although it is not in plain digits."""
    if is_plain_number(text):
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
