"""Plausibility rules about the content of the data. They fire if the storage did not have to move
all bytes of the data, for example because the data is compressible or sparse."""

from __future__ import annotations

from dfslab.documents.evidence import Evidence
from dfslab.spec import units
from dfslab.studies.checks import rule
from dfslab.studies.checks.rule import Rule

NAMES = ("compressible_data", "duplicate_data", "never_written", "content_not_compared")
# Least fraction of the data that compression or deduplication removes if the rules
# `compressible_data` and `duplicate_data` fire. A fifth is more than the difference between
# repetitions of storage runs.
REMOVED = 0.2
# Least fraction of the data that disks deliver if files are not sparse. Reads of sparse files need
# only metadata. Other reads fetch all bytes from disks, or more with read-ahead.
SPARSE = 0.05


def _compressible(one: Evidence) -> str | None:
    share = one.data.compressible
    if share is None or share < REMOVED or one.data.is_reduced is False:
        return None
    return f"compression removes {min(share, 1.0):.0%} of the data that is written"


def _duplicate(one: Evidence) -> str | None:
    share = one.data.duplicate
    if share is None or share < REMOVED or one.data.is_reduced is False:
        return None
    return f"deduplication removes {min(share, 1.0):.0%} of the data that is written"


def _never_written(one: Evidence) -> str | None:
    if one.work.operation != "read":
        return None
    if one.data.was_written is False:
        return "files were created by their length only and then read"
    read, moved = one.caches.disk_reads, one.caches.first_reads
    if one.work.cache != "direct" or read is None or not moved or read >= SPARSE * moved:
        return None
    return (
        f"direct reads of {units.text(moved, 'B', 3)} took {units.text(read, 'B', 3)} off the disks"
    )


def _not_compared(one: Evidence) -> str | None:
    if one.data.is_compared is not False:
        return None
    return "the content of files was not compared with what was written"


make = rule.table(
    Rule(
        "compressible_data",
        "Storage that compresses moves fewer bytes than are counted.",
        "Repeat with random data (fio refill_buffers=1), or state that the storage does not "
        "compress.",
        _compressible,
    ),
    Rule(
        "duplicate_data",
        "Storage that deduplicates stores equal blocks once.",
        "Repeat with distinct blocks (fio dedupe_percentage=0, refill_buffers=1), or state that "
        "the storage does not deduplicate.",
        _duplicate,
    ),
    Rule(
        "never_written",
        "Reads of a hole, or of a block that was discarded, are answered with zeros from memory.",
        "Write all files with random data first, and compare file sizes with allocated blocks.",
        _never_written,
    ),
    Rule(
        "content_not_compared",
        "Wrong or lost data is as fast as right data.",
        'Repeat with a check of content (run.verify = "sample" in a scenario, fio verify=crc32c).',
        _not_compared,
        is_doubt=True,
    ),
).__getitem__
