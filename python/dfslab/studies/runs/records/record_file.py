"""Reads `results/records.jsonl`, the records of a run: which are intact, and what is damaged.

The first line has the format, a random identifier of the run and the hash of its scenario. A last
line without a newline is left out: a crash interrupted its write, so it was never a result.
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

# A longer line is no record; the profile of a large trace takes some 10 MB.
MOST_RECORD_BYTES = 256 << 20


class Damage(NamedTuple):
    """A place that holds no usable result, and why. `key`: the result that was stored there, if the
    place still shows it."""

    place: str
    reason: str
    key: ResultKey | None = None


class Line(NamedTuple):
    """One intact record: first byte, content with its newline, and head."""

    offset: int
    content: bytes
    head: Head


@dataclass
class KnownRecords:
    """What is known of a file of records.

    `run`: the identifier in its first line. `end`: the end of its last whole line. `number`: of its
    last record. `listed`: all intact records; `entries`: the last one of each key. `replaced`: the
    places of damage whose results were measured again.
    """

    run: str = ""
    end: int = 0
    number: int = 0
    listed: list[IndexEntry] = field(default_factory=list)
    entries: dict[ResultKey, IndexEntry] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)

    def add(self, entry: IndexEntry) -> None:
        """Counts one intact record; it replaces an earlier one of the same key."""
        self.listed.append(entry)
        self.entries[entry.key] = entry
        self.number, self.end = entry.number, entry.end

    def open_damage(self) -> list[Damage]:
        """The damage whose results were not measured again."""
        return [one for one in self.damage if one.place not in self.replaced]


class RecordFile:
    """The file of records in a run folder; it need not exist."""

    def __init__(self, run_folder: Path) -> None:
        self._scenario = run_folder / "scenario.toml"
        self.path = run_folder / "results" / stored.RECORDS

    def size_bytes(self) -> int:
        """The length of the file, 0 if there is none. DamagedResult if it is no regular file."""
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return 0
        if not stat.S_ISREG(found.st_mode):
            raise DamagedResult("is no regular file")
        return found.st_size

    def first_line(self) -> bytes:
        """The first line of a new file."""
        head = {"format": record.FORMAT, "run": uuid.uuid4().hex, "scenario": self._hash()}
        return record.signed(json.dumps(head, separators=(",", ":")).encode()[1:], "")

    def run_of(self, line: bytes) -> str:
        """The identifier of the run in the first line of a file.

        DamagedResult if the line is damaged, or of a later format or another scenario.
        """
        try:
            head = json.loads(b"{" + record.content_of(line, ""))
        except DamagedResult as error:
            raise DamagedResult(f"its first line {error}") from error
        if head["format"] != record.FORMAT:
            reason = f"has format {head['format']!r}; this version reads up to {record.FORMAT}"
            raise DamagedResult(reason)
        if head["scenario"] not in ("", self._hash()):
            raise DamagedResult("belongs to another scenario.toml than that of its folder")
        return str(head["run"])

    def opened(self) -> KnownRecords:
        """The state of the file from its first line, without any record.

        DamagedResult as for `run_of`. A file without a whole line is as no file.
        """
        for offset, line in self._lines(0):
            return KnownRecords(run=self.run_of(line), end=offset + len(line))
        return KnownRecords()

    def intact(self, known: KnownRecords) -> Iterator[Line]:
        """The intact records behind `known.end`. Damage is added to `known`: changed lines, and
        numbers that are missing or come twice."""
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
        """Adds everything behind `known.end` to `known`, and returns it."""
        for offset, line, head in self.intact(known):
            known.add(IndexEntry(offset, len(line), head.number, head.key, head.complete))
        return known

    def line(self, entry: IndexEntry) -> bytes:
        """The content of one record; less if the file is shorter."""
        with self.path.open("rb") as file:
            file.seek(entry.offset)
            return file.read(entry.size_bytes)

    def _lines(self, begin: int) -> Iterator[tuple[int, bytes]]:
        """Offset and content of the whole lines from a byte on."""
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
        """SHA-256 of the folder's scenario.toml; "" without one."""
        if not self._scenario.is_file():
            return ""
        return hashlib.sha256(self._scenario.read_bytes()).hexdigest()


def place_of(offset: int) -> str:
    """How a place of the file is named in messages and in `replaces`."""
    return f"byte {offset}"
