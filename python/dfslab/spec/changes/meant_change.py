"""Guesses which change a user means by words that are not in the language of changes, such as
"faster disks"."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from dfslab.spec.changes.subjects import Subject

# Everyday words for hardware and settings, each with the phrases that may name it in a change. The
# first phrase that the scenario knows counts.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ssd", "hdd", "nvme", "flash", "drive", "storage", "raid"), ("disk",)),
    **dict.fromkeys(("cpu", "processor", "core", "vcpu"), ("cores",)),
    **dict.fromkeys(("ghz", "mhz", "clock"), ("clock",)),
    **dict.fromkeys(("ram", "dram"), ("memory",)),
    **dict.fromkeys(("ethernet", "bandwidth", "nic", "network", "cable", "switch"), ("link",)),
    **dict.fromkeys(("ping", "rtt", "delay"), ("latency",)),
    **dict.fromkeys(("node", "machine", "host", "box", "brick", "osd", "datanode"), ("servers",)),
    **dict.fromkeys(("user", "thread", "job", "reader", "writer", "concurrency"), ("clients",)),
    **dict.fromkeys(("replica", "mirror", "redundancy", "durability"), ("copies",)),
    **dict.fromkeys(("block", "chunk"), ("block size", "transfer size")),
    **dict.fromkeys(("request", "transfer"), ("transfer size",)),
    **dict.fromkeys(("sync", "flush"), ("fsync",)),
}
_FASTER = frozenset(("fast", "faster", "quick", "quicker", "speed", "better", "upgrade", "new"))
_LESS = frozenset(("fewer", "less", "lower", "smaller", "reduce", "remove", "half", "slower"))
_TWICE = frozenset(("double", "twice", "bigger", "larger", "increase"))
_MORE = frozenset(("more", "add", "extra", "another", "additional", "use", "a", "an"))
# The words that settings without numbers may have. The first word is suggested if the user names
# none of these words.
_WORDS_OF = {
    "cache": ("cold", "warm", "direct"),
    "fsync": ("on", "off"),
    "sync io": ("data", "all"),
}
_WORD = re.compile(r"[a-z]+")


def meant_change(text: str, phrases: Mapping[str, Subject]) -> str:
    """Returns the change that the words `text` most likely mean, such as "disk x2" for "faster
    disks"; "" if no word is known. `phrases`: the subjects of a scenario by the phrases that name
    them."""
    words = _WORD.findall(text.lower())
    for word in words:
        if name := _named(word, phrases, bool(_FASTER & {*words})):
            return f"{name} {_value(name, phrases[name], {*words})}"
    return ""


def _named(word: str, phrases: Mapping[str, Subject], is_faster: bool) -> str:
    """Returns the phrase that a word means; "" if there is none. If something is to become faster,
    "disks" means the speed of the disks, and "servers" the speed of their disks."""
    single = word.removesuffix("s")
    if is_faster and (of_disk := f"{single} disk") in phrases:
        return of_disk
    forms = (single, word) if is_faster else (f"{single}s", word, single)
    known = (*forms, *_SYNONYMS.get(word, ()), *_SYNONYMS.get(single, ()))
    return next((one for one in known if one in phrases), "")


def _value(name: str, subject: Subject, words: set[str]) -> str:
    """Returns the value of a change of `subject`, as the user's other words suggest it."""
    if subject.unit == "":
        allowed = _WORDS_OF.get(name, ("VALUE",))
        return next((one for one in allowed if one in words), allowed[0])
    is_time = subject.unit == "s"
    if words & _LESS:
        return "-1" if subject.unit == "1" and not words & {"half"} else "/2"
    if subject.unit == "1" and not words & (_TWICE | _FASTER):
        return "+1"
    return "/2" if is_time else "x2"


def respelled(text: str, name: str, phrases: Mapping[str, Subject]) -> str:
    """Returns the change `text` with the known phrase that is spelled almost like its beginning
    `name`; "" if there is none, or if the first word of the text is no name but tells how
    something changes."""
    if {*text.lower().split()[:1]} & (_FASTER | _LESS | _TWICE | _MORE):
        return ""
    close = difflib.get_close_matches(name, phrases, n=1, cutoff=0.75)
    return f"{close[0]} {text[len(name) :].strip()}".strip() if close else ""
