"""Finds the parameter of a file system that sets how many copies of data are stored. Its name and
its values differ between file systems."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dfslab.spec.input_error import InputError
from dfslab.spec.systems.parameters import Parameter

# Words that show that a parameter protects data. The words only decide about a parameter without a
# declared purpose, because descriptions by other authors may declare no purposes. The parameter
# counts as one that protects data if its key or its meaning has one of these words.
_IN_KEY = re.compile(r"cop(y|ies)|replica|mirror|parity|redundan|erasure|fragment")
_IN_MEANING = re.compile(r"cop(y|ies) of|replica|redundan|parity|erasure", re.IGNORECASE)


def copies_parameter(parameters: Iterable[Parameter]) -> Parameter | None:
    """Returns the parameter that sets the number of copies; None if no parameter declares this."""
    declared = (one for one in parameters if one.purpose in ("copies", "mirror"))
    return next(declared, None)


def setting_for(parameter: Parameter, copies: int) -> int:
    """Returns the value of `parameter` with which `copies` copies of the data are stored. Raises
    InputError if the parameter switches a mirror on or off and `copies` is neither 1 nor 2."""
    if parameter.purpose == "mirror" and copies not in (1, 2):
        allowed = f"must be 1 or 2: {parameter.key} stores data once or twice"
        raise InputError("--copies", copies, allowed)
    return copies - base_of(parameter)


def copies_at(parameter: Parameter, value: float) -> float:
    """Returns the number of copies that is stored at a value of `parameter`."""
    return value + base_of(parameter)


def base_of(parameter: Parameter) -> int:
    """Returns the number of copies that are stored if the parameter has the value 0. For a
    parameter that switches a mirror on or off, the number is 1, because data without a mirror has
    one copy. Otherwise the number is 0."""
    return 1 if parameter.purpose == "mirror" else 0


def protects_data(parameter: Parameter) -> bool:
    """Returns whether `parameter` may affect how many failures the data survives. The declared
    purpose decides this. If no purpose is declared, words in the key or the meaning decide."""
    if parameter.purpose:
        return parameter.purpose in ("copies", "mirror", "data fragments")
    return bool(_IN_KEY.search(parameter.key) or _IN_MEANING.search(parameter.meaning))
