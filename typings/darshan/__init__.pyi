"""What dfslab uses of Darshan's package: a log, and the records in it."""

from collections.abc import Container, Iterator, Mapping, Sequence
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

class Counters:
    """A NumPy array of the values of counters."""

    def tolist(self) -> list[float]: ...

class LayoutComponent(TypedDict):
    """A part of a file on Lustre: size of a stripe in bytes, number of targets, and others."""

    counters: Sequence[int]

class CounterRecord(TypedDict):
    """The counters of one module for one file and one process, or the layout of one file."""

    id: int
    rank: int
    counters: Counters
    fcounters: Counters
    components: Sequence[LayoutComponent]

class Job(TypedDict):
    """Facts about the run; run_time in seconds."""

    nprocs: int
    run_time: float

class Metadata(TypedDict):
    """Facts about the run and its program."""

    job: Job
    exe: str

class CounterNames(TypedDict):
    """The names of the counters of a module: whole numbers, and floating-point numbers."""

    counters: Sequence[str]
    fcounters: Sequence[str]

class DxtRecords:
    """The records of one module."""

    def to_numpy(self) -> list[CounterRecord]: ...
    def to_df(self) -> list[DxtRecord]: ...
    def __iter__(self) -> Iterator[DxtRecord]: ...

class DarshanReport:
    """A log. RuntimeError where the file is no log."""

    modules: Container[str]
    name_records: Mapping[int, str]
    records: Mapping[str, DxtRecords]
    counters: Mapping[str, CounterNames]
    metadata: Metadata
    def __init__(self, filename: str, *, read_all: bool = ...) -> None: ...
    def mod_read_all_dxt_records(self, mod: str) -> None: ...
    def mod_read_all_records(self, mod: str, *, dtype: str = ...) -> None: ...
    def mod_read_all_lustre_records(self, *, dtype: str = ...) -> None: ...
