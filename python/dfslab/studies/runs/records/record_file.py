"""Reads `results/records.jsonl`, in which a run stores its results, one record per line. Determines
which records are intact.

The first line has the format, a random identifier of the run, and the hash of the run's scenario.
If the last line has no newline, a crash interrupted its write, and the line is ignored.
"""

from __future__ import annotations

import hashlib
import json
import stat
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dfslab.studies.runs import stored
from dfslab.studies.runs.records import record
from dfslab.studies.runs.records.record import DamagedResult, Head, ResultKey
from dfslab.studies.runs.records.record_index import IndexEntry

# Largest length of a record in bytes. A longer line is regarded as damaged: even a record with the
# profile of a large trace has only some 10 MB.
MOST_RECORD_BYTES = 256 << 20


class Damage(NamedTuple):
    """A place in the stored results at which no result can be read.

    `place`: the name of a file, or the position in the file of records. `reason`: why no result can
    be read. `key`: the key of the result that was stored at this place; None if the key cannot be
    read either.
    """

    place: str
    reason: str
    key: ResultKey | None = None


class Line(NamedTuple):
    """An intact record in the file of records: the offset of its first byte, its content including
    the newline, and its head."""

    offset: int
    content: bytes
    head: Head


@dataclass
class KnownRecords:
    """The known content of a file of records: the part of the file that has been read.

    `run`: identifier of the run, from the file's first line. `end`: offset of the end of the last
    complete line. `number`: number of the last record. `listed`: all intact records. `entries`: the
    last intact record of each key. `damage`: all damaged places that were found. `replaced`: names
    of damaged places whose results were measured again.
    """

    run: str = ""
    end: int = 0
    number: int = 0
    listed: list[IndexEntry] = field(default_factory=list)
    entries: dict[ResultKey, IndexEntry] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)

    def add(self, entry: IndexEntry) -> None:
        """Adds one intact record. In `entries`, it replaces an earlier record with the same key."""
        self.listed.append(entry)
        self.entries[entry.key] = entry
        self.number, self.end = entry.number, entry.end

    def open_damage(self) -> list[Damage]:
        """Returns the damage whose results were not measured again."""
        return [one for one in self.damage if one.place not in self.replaced]


class RecordFile:
    """The file of records in a run folder. The file need not exist."""

    def __init__(self, run_folder: Path) -> None:
        self._scenario = run_folder / "scenario.toml"
        self.path = run_folder / "results" / stored.RECORDS

    def size_bytes(self) -> int:
        """Returns the length of the file in bytes; 0 if there is no file. Raises DamagedResult if
        it is not a regular file."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return 0
        if not stat.S_ISREG(found.st_mode):
            raise DamagedResult("is no regular file")
        return found.st_size

    def first_line(self) -> bytes:
        """Returns the first line of a new file, which contains a new random identifier of the
        run."""
        head = {"format": record.FORMAT, "run": uuid.uuid4().hex, "scenario": self._hash()}
        return record.signed(json.dumps(head, separators=(",", ":")).encode()[1:], "")

    def run_of(self, line: bytes) -> str:
        """Returns the identifier of the run from the first line of a file.

        Raises DamagedResult if the line is damaged, has another format, or belongs to another
        scenario.
        """
        try:
            head = json.loads(b"{" + record.content_of(line, ""))
        except DamagedResult as error:
            raise DamagedResult(f"its first line {error}") from error
        if head["format"] != record.FORMAT:
            reason = f"has format {head['format']!r}; this version reads up to {record.FORMAT}"
            raise DamagedResult(reason)
        if head["scenario"] not in ("", self._hash()):
            raise DamagedResult("belongs to another scenario than the scenario.toml of its folder")
        return str(head["run"])

    def opened(self) -> KnownRecords:
        """Reads only the file's first line, and returns the content that is known then: the run's
        identifier and the end of the line. If the file is missing or has no complete line, the
        returned content is empty.

        Raises DamagedResult as `run_of` does.
        """
        for offset, line in self._lines(0):
            return KnownRecords(run=self.run_of(line), end=offset + len(line))
        return KnownRecords()

    def intact(self, known: KnownRecords) -> Iterator[Line]:
        """Yields the intact records after the offset `known.end`. Changed lines, missing records
        and duplicates are damage, which is added to `known.damage`."""
        expected = known.number + 1
        for offset, line in self._lines(known.end) if known.run else ():
            known.end = offset + len(line)
            try:
                head = record.head_of(line, known.run)
            except DamagedResult as error:
                key = record.likely_key(line)
                known.damage.append(Damage(place_of(offset), str(error), key))
                expected += 1
                continue
            if head.number < expected:
                reason = f"is a copy of record {head.number}"
                known.damage.append(Damage(place_of(offset), reason))
                continue
            if head.number > expected:
                reason = f"record {expected} is missing before it"
                known.damage.append(Damage(place_of(offset), reason))
            expected = head.number + 1
            known.replaced.update(head.replaces)
            yield Line(offset, line, head)

    def scan(self, known: KnownRecords) -> KnownRecords:
        """Adds all records and all damage after `known.end` to `known`. Returns `known`."""
        for offset, line, head in self.intact(known):
            known.add(IndexEntry(offset, len(line), head.number, head.key, head.complete))
        return known

    def line(self, entry: IndexEntry) -> bytes:
        """Returns the bytes of one record. Fewer than `entry.size_bytes` bytes are returned if the
        file ends before the end of the record."""
        with self.path.open("rb") as file:
            file.seek(entry.offset)
            return file.read(entry.size_bytes)

    def _lines(self, begin: int) -> Iterator[tuple[int, bytes]]:
        """Yields (offset, content) of each complete line, starting at the offset `begin`. Raises
        DamagedResult if a line is longer than MOST_RECORD_BYTES."""
        if self.size_bytes() <= begin:
            return
        with self.path.open("rb") as file:
            file.seek(begin)
            while line := file.readline(MOST_RECORD_BYTES):
                if line.endswith(b"\n"):
                    yield begin, line
                elif len(line) == MOST_RECORD_BYTES:
                    raise DamagedResult(f"{place_of(begin)}: a line of more than {len(line)} bytes")
                begin += len(line)

    def _hash(self) -> str:
        """Returns the SHA-256 of the folder's scenario.toml; "" if there is no such file."""
        if not self._scenario.is_file():
            return ""
        return hashlib.sha256(self._scenario.read_bytes()).hexdigest()


def place_of(offset: int) -> str:
    """Returns the name of the position `offset` (in bytes) in the file of records. Error messages
    and the field `replaces` of later records use this name."""
    return f"byte {offset}"
