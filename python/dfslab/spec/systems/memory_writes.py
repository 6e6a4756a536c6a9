"""States what predictions assume about data in memory: reads find their data there, and writes end
in the memory of the servers, where the rate of their disks has no effect.

The sentence on writes is a note of a prediction. Answers repeat it, because it decides whether a
disk can be what limits the rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

ASSUMED_READS = "Assumes that reads find their data in memory (workload.cache = warm)"
_START = "Writes are assumed to end in the memory of the servers and to fit into it"


def memory_writes(keys: Sequence[str]) -> list[str]:
    """Returns the sentence on the disks' rates that have no effect for this reason. `keys`: the
    dotted keys of these rates. The list is empty if there are none."""
    if not keys:
        return []
    verb = "has" if len(keys) == 1 else "have"
    return [
        f"{_START}, so {', '.join(keys)} {verb} no effect; with workload.fsync = true, or more "
        "data than this memory takes (workload.file_size, workload.operations_per_client), the "
        "disks count."
    ]


def replaced_rates(keys: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns one sentence for each disk rate that measured values replace. `keys`: the dotted keys
    of the measured values, by the dotted key of the rate."""
    return [
        f"{key} has no effect, because the measured {' and '.join(measured)} "
        f"{'replaces' if len(measured) == 1 else 'replace'} it."
        for key, measured in keys.items()
    ]


def stated(notes: Iterable[str]) -> list[str]:
    """Returns the sentences of `memory_writes` among the notes of predictions, each once."""
    return list(dict.fromkeys(note for note in notes if note.startswith(_START)))
