"""Stores the results of a run in one append-only file, and finds them by key through an index. An
added result survives a power failure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dfslab.result import Result
from dfslab.spec.files import regular
from dfslab.spec.files.outputs import sync_folder
from dfslab.studies.runs.records import record, record_index
from dfslab.studies.runs.records.record import DamagedResult, ResultKey
from dfslab.studies.runs.records.record_file import Damage, KnownRecords, RecordFile, place_of
from dfslab.studies.runs.records.record_index import IndexEntry

INDEX = "records.index"


class RecordLog:
    """The records of one run folder. Only the process that holds the lock of the folder
    (`Store.locked`) may add results."""

    def __init__(self, run_folder: Path) -> None:
        self._file = RecordFile(run_folder)
        self._index = self.path.with_name(INDEX)
        self._known = KnownRecords()
        self._size_bytes = 0
        self._is_checked = False

    @property
    def path(self) -> Path:
        """Returns the path of the file of records. The file need not exist."""
        return self._file.path

    def keys(self) -> list[ResultKey]:
        """Returns the keys of all intact results, in the order in which they were first stored."""
        return list(self._opened().entries)

    def find(self, key: ResultKey) -> Result | None:
        """Returns the last result with a key; None if there is none. Raises DamagedResult if the
        result is damaged."""
        known = self._opened()
        entry = known.entries.get(key)
        if entry is not None:
            return record.decoded(self._file.line(entry), known.run)[1]
        for damage in known.open_damage():
            if damage.key == key:
                raise DamagedResult(damage.reason)
        return None

    def append(self, results: Sequence[Result], replaces: Sequence[str] = ()) -> None:
        """Adds results. When `append` returns, the results survive a power failure. A new result
        replaces an earlier result with the same key.

        `replaces`: names of damaged files of earlier formats that the results replace. Raises
        OSError if the disk is full or fails, or if the file is not a regular file; the file is then
        unchanged. Raises DamagedResult if the file's first line is damaged, has another format, or
        belongs to another scenario.
        """
        descriptor = regular.opened(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            known = self._checked(descriptor)
            first = b"" if known.run else self._file.first_line()
            run = known.run or self._file.run_of(first)
            keys = {record.key_of(result) for result in results}
            places = [*replaces, *_replaced_by(keys, known)]
            lines = [
                record.encoded(result, run, number, places)
                for number, result in enumerate(results, start=known.number + 1)
            ]
            _write_durably(descriptor, b"".join((first, *lines)), known.end, self.path)
        finally:
            os.close(descriptor)
        known.run, known.end = run, known.end + len(first)
        known.replaced.update(places)
        entries = []
        for line, result in zip(lines, results, strict=True):
            key, number = record.key_of(result), known.number + 1
            entries.append(IndexEntry(known.end, len(line), number, key, result.complete))
            known.add(entries[-1])
        self._size_bytes = known.end
        if first:
            sync_folder(self.path.parent)
            record_index.write(self._index, run, entries)
        else:
            record_index.append(self._index, entries)

    def read(self) -> Iterator[Result | Damage]:
        """Yields the stored results in the order of their records, and the damaged places. Results
        that were replaced, and damaged places whose results were measured again, are left out."""
        indexed = self._opened()
        last = {entry.offset for entry in indexed.entries.values()}
        known = self._file.opened()
        for offset, line, _ in self._file.intact(known):
            if offset in last:
                try:
                    yield record.decoded(line, known.run)[1]
                except DamagedResult as error:
                    known.damage.append(Damage(place_of(offset), str(error)))
        known.damage += _cut_off(indexed, known.end)
        yield from known.open_damage()

    def replaced(self) -> set[str]:
        """Returns the names of the damaged files and damaged places whose results were measured
        again."""
        return self._file.scan(self._file.opened()).replaced

    def _opened(self) -> KnownRecords:
        """Returns the current content of the file. Most records are known from the index; only
        records that the index lacks are read.

        Raises DamagedResult if the file's first line is damaged, has another format, or belongs to
        another scenario.
        """
        size_bytes = self._file.size_bytes()
        if size_bytes != self._size_bytes:
            known = self._file.opened()
            for entry in record_index.read(self._index, known.run):
                known.add(entry)
            self._known, self._size_bytes = self._file.scan(known), size_bytes
            self._is_checked = False
        return self._known

    def _checked(self, descriptor: int) -> KnownRecords:
        """Returns the known records before an append. On the first call, and after another process
        changed the file's length, all records are read and checked. An incomplete last line is then
        cut off, and the index is written again."""
        indexed = self._opened()
        if not self._is_checked and self._size_bytes:
            self._known = self._file.scan(self._file.opened())
            self._known.damage += _cut_off(indexed, self._known.end)
            os.ftruncate(descriptor, self._known.end)
            self._size_bytes = self._known.end
            record_index.write(self._index, self._known.run, self._known.listed)
        self._is_checked = True
        return self._known


def _replaced_by(keys: set[ResultKey], known: KnownRecords) -> list[str]:
    """Returns the names of the damaged places that are replaced when results with the keys `keys`
    are added.

    A damaged record is replaced if its key is in `keys`, if another record with its key is intact,
    or if its key cannot be read. The last case is safe, because a resumed run measures every
    missing result again.
    """
    return [
        one.place
        for one in known.open_damage()
        if one.key is None or one.key in keys or one.key in known.entries
    ]


def _cut_off(indexed: KnownRecords, end: int) -> list[Damage]:
    """Returns, as damage, the records that the index lists but that the file no longer has in full.
    `end`: the end of the file's last complete line."""
    return [
        Damage(f"record {one.number}", "is missing: the file was cut off before it", one.key)
        for one in indexed.listed
        if one.end > end
    ]


def _write_durably(descriptor: int, content: bytes, end: int, path: Path) -> None:
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, end)
        # The error of a write lacks the name of the file, so the name is added.
        raise OSError(error.errno, error.strerror, str(path)) from error
