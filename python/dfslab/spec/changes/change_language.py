"""The language of changes, such as "servers +1", "client link 10 Gbit/s", "copies 2" or "block size
x2".

A change is a subject and a value. The value is absolute ("8", "10 Gbit/s") or relative to the
present value: "+1", "-1", "x2", "/2", "+50 %". `KEY=VALUE` sets a dotted key of the scenario.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from dfslab.spec import units
from dfslab.spec.changes.change import DOUBLING, Change, adds_hardware, distance_of, kind_of
from dfslab.spec.changes.meant_change import meant_change, respelled
from dfslab.spec.changes.subjects import Subject, subjects_of
from dfslab.spec.check import check
from dfslab.spec.design import LevelValue
from dfslab.spec.files.plain_number import is_odd_number
from dfslab.spec.input_error import InputError
from dfslab.spec.scenario import Scenario
from dfslab.spec.units import parse

KEY = "CHANGE"
_SPACES = re.compile(r"[\s_]+")
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_FACTOR = re.compile(rf"^(?:(?:x|×|\*|times)\s*{_NUMBER}|{_NUMBER}\s*(?:x|×|times))$")
_DIVISOR = re.compile(rf"^/\s*{_NUMBER}$")
_PERCENT = re.compile(rf"^([+-])\s*{_NUMBER}\s*%$")
_STEP = re.compile(r"^([+-])\s*(\S.*)$")
_ASSIGNED = re.compile(r"^(deployment|file_system|workload)\.[\w.-]+\s*=")
# Words between a subject and its new value, as in "clients to 8" and "clients x 2".
_BEFORE_NUMBER = ("to", "times", "x")
_BEGINS_VALUE = re.compile(r"[\d+×*/-]|x\d")
# A subject and the sign of its new value without a space between them, as in "servers+1".
_WITHOUT_SPACE = re.compile(r"^([A-Za-z_ ]*[A-Za-z])([+*×/-]\s*\d)")
# A rate of a link without "per second", as other options of commands accept it: "25Gbit".
_BITS = re.compile(r"^[\d.]+\s*[kMGT]bit$")
_FORMS = "a value such as 8, +1, x2 or /2"
# The subjects that the error about an unknown subject lists.
USUAL = ("servers", "clients", "copies", "disk", "link", "cores", "memory", "latency", "cache")
_SWITCH: dict[str, LevelValue] = {"on": True, "off": False, "true": True, "false": False}


def parse_change(text: str, scenario: Scenario) -> Change:
    """Parses one change of a scenario. Raises InputError, which names the change and what is
    allowed, if the change is wrong."""
    text = text.strip()
    if _ASSIGNED.match(text):
        return _assigned(text, scenario)
    text = _WITHOUT_SPACE.sub(r"\1 \2", text)
    phrases = subjects_of(scenario)
    words = _SPACES.sub(" ", text.replace("=", " ").strip()).lower().split(" ")
    for count in range(len(words), 0, -1):
        subject = phrases.get(" ".join(words[:count]))
        if subject is not None and not _goes_on(subject, words[count:]):
            rest = " ".join(text.replace("=", " ").replace("_", " ").split()[count:])
            return _valued(text, subject, rest.removeprefix("to ").strip())
    name = " ".join(words).partition(" ")[0]
    for count, word in enumerate(words):
        if _BEGINS_VALUE.match(word):
            name = " ".join(words[:count]) or text
            break
    raise InputError(KEY, text, _unknown(text, name, phrases))


def _goes_on(subject: Subject, rest: Sequence[str]) -> bool:
    """Returns whether the words after a subject's phrase continue the name instead of being its
    value, as in "client lnk 10 Gbit/s". The value of the subject is a number."""
    if not rest or not subject.unit or rest[0] in _BEFORE_NUMBER or rest[0] in _SWITCH:
        return False
    return not _BEGINS_VALUE.match(rest[0]) and any(map(_BEGINS_VALUE.match, rest))


def parse_changes(texts: Sequence[str], scenario: Scenario) -> list[Change]:
    """Parses several changes. Each text may contain several changes separated by commas. Raises
    InputError if there is no change, or if a change is wrong."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not any(parts):
        raise InputError(KEY, None, 'needs a change, such as "servers +1"')
    return [parse_change(part, scenario) for part in parts if part]


def apply(scenario: Scenario, changes: Sequence[Change]) -> Scenario:
    """Returns `scenario` with all changes applied; a later change of the same key wins. Raises
    InputError if the changed scenario is not allowed."""
    values: dict[str, LevelValue] = {}
    for one in changes:
        values |= one.values
    changed = scenario.with_values(values)
    check(changed)
    return changed


def _unknown(text: str, name: str, phrases: dict[str, Subject]) -> str:
    """Returns the error text for the unknown subject `name` of the change `text`. The text suggests
    the phrase that is spelled almost like the name, or else the change that the words of the name
    mean. The text lists only the most frequent subjects, and names the help that lists all
    subjects."""
    meant = respelled(text, name, phrases) or meant_change(text, phrases)
    hint = f'did you mean "{meant}"?' if meant else 'a change is such as "servers +1".'
    listed = ", ".join(one for one in USUAL if one in phrases)
    return (
        f"names nothing that can change; {hint} Most used: {listed}; "
        "`dfslab whatif --help` lists all of them"
    )


def _assigned(text: str, scenario: Scenario) -> Change:
    key, _, written = text.partition("=")
    key, written = key.strip(), written.strip()
    for subject in subjects_of(scenario).values():
        if subject.keys == (key,) and not subject.base:
            alone = replace(subject, followers=())
            return _valued(text, alone, written.strip('"'))
    try:
        value = json.loads(written)
    except json.JSONDecodeError:
        value = written
    if not isinstance(value, str | int | float):
        raise InputError(KEY, text, "needs one value")
    scenario.with_values({key: value})
    return Change(text, {key: value}, kind_of(key), DOUBLING)


def _valued(text: str, subject: Subject, written: str) -> Change:
    if not written:
        whole = text.rstrip(" =")
        quoted = f'; a change and its value share one pair of quotes: "{whole} x2"'
        raise InputError(KEY, text, f"needs {_FORMS}{_now(subject)}{quoted}")
    new = [_new(text, subject, written, present) for present in subject.present]
    if written[0] in "+-" and "%" not in written and len(subject.keys) > 1 and subject.unit == "1":
        names = ", ".join(key.split(".")[2] for key in subject.keys)
        raise InputError(KEY, text, f"names several groups of nodes; name one of {names}")
    distances = [
        distance_of(float(old), float(one))
        if isinstance(old, int | float) and isinstance(one, int | float)
        else DOUBLING * (old != one)
        for old, one in zip(subject.present, new, strict=True)
    ]
    values = {
        key: _written(
            one - subject.base if subject.base and isinstance(one, int) else one, subject.unit
        )
        for key, one in zip(subject.keys, new, strict=True)
    }
    values |= _followed(subject, new)
    is_more = all(
        isinstance(old, int | float)
        and isinstance(one, int | float)
        and adds_hardware(key, old, one)
        for key, old, one in zip(subject.keys, subject.present, new, strict=True)
    )
    return Change(" ".join(text.split()), values, subject.kind, max(distances), is_more)


def _followed(subject: Subject, new: Sequence[LevelValue]) -> dict[str, LevelValue]:
    """Returns the new values of the measured values that change with the subject's hardware. `new`
    has the new values of the subject's keys."""
    ratios = {
        key: float(value) / float(old)
        for key, old, value in zip(subject.keys, subject.present, new, strict=True)
        if isinstance(old, int | float) and isinstance(value, int | float) and old and value
    }
    return {
        one.key: units.exact(one.value * ratios[one.hardware_key] ** one.power, one.unit)
        for one in subject.followers
        if one.hardware_key in ratios
    }


def _now(subject: Subject) -> str:
    """Returns, for the end of an error message, the values that the subject's keys have now."""
    return "; now " + ", ".join(dict.fromkeys(_shown(v, subject.unit) for v in subject.present))


def _shown(value: LevelValue, unit: str) -> str:
    if unit in ("B", "s", "B/s", "Hz"):
        return units.text(float(value), unit)
    return str(value) if isinstance(value, str | bool) else f"{value:g}"


def _written(value: LevelValue, unit: str) -> LevelValue:
    if isinstance(value, str) or unit in ("", "share"):
        return value
    if unit == "1":
        return int(value) if float(value).is_integer() else value
    return units.exact(float(value), unit)


def _new(text: str, subject: Subject, written: str, present: LevelValue) -> LevelValue:
    """Returns the new value of one key of `subject`: a word, or a number in SI units. `written` is
    the value part of the change, such as "+1", and `present` is the key's present value. Raises
    InputError, which shows the whole change `text`, if the new value is not possible."""
    if subject.unit == "" or isinstance(present, str):
        return _SWITCH.get(written.lower(), written)
    value = _number(text, subject, written, float(present))
    if subject.unit == "1" and (value < 0 or not value.is_integer()):
        raise InputError(KEY, text, f"gives {value:g}; needs a whole number{_now(subject)}")
    if value < 0:
        raise InputError(KEY, text, f"gives {value:g}; must not be negative{_now(subject)}")
    return int(value) if subject.unit == "1" else value


def _number(text: str, subject: Subject, written: str, present: float) -> float:
    if factor := _FACTOR.match(written):
        return present * float(factor[1] or factor[2])
    if (divisor := _DIVISOR.match(written)) and float(divisor[1]):
        return present / float(divisor[1])
    if percent := _PERCENT.match(written):
        return present * (1 + float(f"{percent[1]}{percent[2]}") / 100)
    if written.lower() in _SWITCH and all(one.startswith("file_system.") for one in subject.keys):
        return float(_SWITCH[written.lower()])
    if step := _STEP.match(written):
        if step[2][0] in "+-":
            raise InputError(KEY, text, f"has two signs; needs {_FORMS}{_now(subject)}")
        size = _absolute(text, subject, step[2])
        return present + (size if step[1] == "+" else -size)
    return _absolute(text, subject, written)


def _absolute(text: str, subject: Subject, written: str) -> float:
    try:
        if subject.unit in ("1", "share"):
            if is_odd_number(written):
                raise ValueError
            return float(written)
        if subject.unit == "B/s" and _BITS.match(written):
            return parse(f"{written}/s", subject.unit)
        return parse(written, subject.unit)
    except ValueError as error:
        reason = str(error) if subject.unit not in ("1", "share") else f"needs {_FORMS}"
        raise InputError(KEY, text, f"{reason}{_now(subject)}") from error
