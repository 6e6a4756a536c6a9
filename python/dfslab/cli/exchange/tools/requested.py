"""Parses the command lines of other benchmarks. `Requested` is the result of the conversion of one
command line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from dfslab.result import Result
from dfslab.spec import units
from dfslab.spec.design import LevelValue
from dfslab.spec.input_error import InputError, unknown

# The unit letters of a size. The value of a letter is the exponent of 1024 that the letter stands
# for.
POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
SIZE = re.compile(r"(\d+)([bkmgt]?)(?:ib|b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Requested:
    """What a command line of another benchmark requests: a workload, a directory, and settings of
    the run.

    `grids`: for a command line with several jobs, one table for each job, which maps scenario keys
    to their values. `notes`: differences between this run and the benchmark's run. `say`: function
    that returns the summary of the results in the benchmark's format.
    """

    workload: Mapping[str, LevelValue | list[str]]
    directory: str
    say: Callable[[Sequence[Result]], str]
    run: Mapping[str, LevelValue] = field(default_factory=dict)
    grids: Sequence[Mapping[str, list[LevelValue]]] = ()
    notes: Sequence[str] = ()


@dataclass
class GivenOptions:
    """The parsed words of a command line of the benchmark `tool`: the options without a value
    (`flags`), the options with a value (`values`), and all other words."""

    tool: str
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def number(self, option: str, default: int, least: int = 1) -> int:
        """Returns the value of `option`, a whole number, or `default` if the option is not given.
        Raises InputError if the value is not a whole number or is below `least`."""
        text = self.values.get(option, str(default))
        number = units.whole_number(text)
        if number is None or number < least:
            raise self.wrong(option, f"must be a whole number from {least} on")
        return number

    def size(self, option: str, default: str) -> int:
        """Returns the value of `option`, a size, in bytes. Uses `default` if the option is not
        given. A unit letter stands for a power of 1024."""
        text = self.values.get(option, default)
        return size_bytes(f"{self.tool}.{option}", text)

    def wrong(self, option: str, allowed: str) -> InputError:
        """Returns the error for a wrong value of an option. `allowed`: text that says which values
        are allowed."""
        return InputError(f"{self.tool}.{option}", self.values.get(option), allowed)


@dataclass(frozen=True)
class ToolOptions:
    """The options that a benchmark accepts. `valued`: the options with a value. `plain`: the
    options without a value. `aliases`: maps each long option to its short name. `refused`: the
    rejected options, each with the reason."""

    tool: str
    valued: Set[str]
    plain: Set[str]
    refused: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def read(self, words: Sequence[str]) -> GivenOptions:
        """Parses a command line. Raises InputError that names every option that is rejected or
        unknown."""
        given, waiting = GivenOptions(self.tool), list(words)
        refused: dict[str, str] = {}
        while waiting:
            word = waiting.pop(0)
            for name, value in self._split(word):
                if name in self.refused:
                    refused.setdefault(name, self.refused[name])
                elif name in self.plain:
                    given.flags.add(name)
                elif name in self.valued:
                    if not value and not waiting:
                        raise InputError(f"{self.tool}.{name}", None, "needs a value")
                    given.values[name] = value or waiting.pop(0)
                elif name:
                    known = sorted({*self.valued, *self.plain, *self.refused})
                    raise InputError(self.tool, name, unknown(name, known))
                else:
                    given.words.append(value)
        if refused:
            reasons = "; ".join(f"{option}: {reason}" for option, reason in refused.items())
            raise InputError(self.tool, " ".join(refused), f"is not honoured: {reasons}")
        return given

    def _split(self, word: str) -> list[tuple[str, str]]:
        """Splits a word of the command line into options. Returns pairs (option, value). The value
        is the text that is joined to the option in the same word, or "". For a word that is no
        option, the list is [("", word)]."""
        if word.startswith("--"):
            name, _, value = word.partition("=")
            return [(self.aliases.get(name, name), value)]
        if not word.startswith("-") or word == "-":
            return [("", word)]
        if word in self.valued or word in self.plain or word in self.refused:
            return [(word, "")]
        found = list[tuple[str, str]]()
        for place, letter in enumerate(word[1:], start=2):
            name = f"-{letter}"
            if name in self.valued or name in self.refused:
                return [*found, (name, word[place:])]
            if name not in self.plain:
                return [*found, (word, "")]
            found.append((name, ""))
        return found


def size_bytes(key: str, text: str) -> int:
    """Parses a size and returns it in bytes. A unit letter stands for a power of 1024. Raises
    InputError for the setting `key` if the text is no size."""
    matched = SIZE.fullmatch(text.strip())
    if matched is None or not int(matched[1]):
        raise InputError(key, text, "must be a number of bytes from 1 on, or one with k, m, g, t")
    return int(matched[1]) * int(math.pow(1024, POWERS[matched[2].lower()]))
