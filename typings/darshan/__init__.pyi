"""What dfslab uses of Darshan's package: a log, and the DXT records in it."""

from collections.abc import Container, Iterator, Mapping
from typing import TypedDict

class Column:
    """A column of a pandas table."""

    def tolist(self) -> list[float]: ...

class Segments:
    """A pandas table with one row for each read or write call."""

    def __len__(self) -> int: ...
    def __getitem__(self, column: str) -> Column: ...

class DxtRecord(TypedDict):
    """The calls of one process on one file."""

    id: int
    rank: int
    hostname: str
    read_segments: Segments
    write_segments: Segments

class DxtRecords:
    """The records of one module."""

    def to_df(self) -> list[DxtRecord]: ...
    def __iter__(self) -> Iterator[DxtRecord]: ...

class DarshanReport:
    """A log. RuntimeError where the file is no log."""

    modules: Container[str]
    name_records: Mapping[int, str]
    records: Mapping[str, DxtRecords]
    def __init__(self, filename: str, *, read_all: bool = ...) -> None: ...
    def mod_read_all_dxt_records(self, mod: str) -> None: ...
