"""The measured times of a node's own file system, which `dfslab calibrate` writes to a profile."""

from __future__ import annotations

from pydantic import model_validator

from dfslab.spec.model import CheckedModel
from dfslab.spec.units import BytesPerSecond, PerSecond, Seconds, quantity

# The keys of the disk below the file system.
OF_DISKS = (
    "commit_time",
    "commit_rate",
    "commits",
    "commits_rate",
    "read_time",
    "read_rate",
    "write_time",
    "write_rate",
    "requests",
    "request_rate",
)
# For each key that makes models use a measured line: the rates that the line needs as well.
NEEDED = {
    "requests": ("request_rate", "read_rate", "write_rate"),
    "commits": ("commit_rate", "commits_rate"),
}


class LocalFiles(CheckedModel):
    """What calls on one directory of a node take, and what the disk below it delivers to direct I/O
    of single streams. Times are in seconds, rates in bytes or requests per second; 0 is "not
    measured". Models use the values for local file systems only.
    """

    open_time: Seconds = quantity("0 s", description="Processor time to open a file")
    close_time: Seconds = quantity("0 s", description="Processor time to close a file")
    create_time: Seconds = quantity("0 s", description="Processor time to create an empty file")
    stat_time: Seconds = quantity("0 s", description="Processor time to look up attributes")
    rename_time: Seconds = quantity("0 s", description="Processor time to rename a file")
    delete_time: Seconds = quantity("0 s", description="Processor time to delete an empty file")
    read_call_time: Seconds = quantity("0 s", description="A cached read, bytes aside")
    write_call_time: Seconds = quantity("0 s", description="A cached write, bytes aside")
    cached_read_rate: BytesPerSecond = quantity("0 B/s", description="Bytes read from the cache")
    cached_write_rate: BytesPerSecond = quantity(
        "0 B/s", description="Bytes of new files written to the cache"
    )
    creates: PerSecond = quantity("0 /s", description="Files that several streams create together")
    deletes: PerSecond = quantity("0 /s", description="Files that several streams delete together")
    commit_time: Seconds = quantity(
        "0 s", description="fsync of a new file of one stream, bytes aside"
    )
    commit_rate: BytesPerSecond = quantity("0 B/s", description="Its bytes, beyond the time")
    commits: PerSecond = quantity("0 /s", description="fsyncs of several streams together")
    commits_rate: BytesPerSecond = quantity("0 B/s", description="Their bytes, beyond the number")
    touch_rate: BytesPerSecond = quantity(
        "0 B/s", description="Bytes of new memory that a process uses for the first time"
    )
    read_time: Seconds = quantity("0 s", description="A direct read of one stream, bytes aside")
    read_rate: BytesPerSecond = quantity(
        "0 B/s", description="Its bytes, beyond the time of a read"
    )
    write_time: Seconds = quantity("0 s", description="A direct write of one stream, bytes aside")
    write_rate: BytesPerSecond = quantity(
        "0 B/s", description="Its bytes, beyond the time of a write"
    )
    requests: PerSecond = quantity("0 /s", description="Small direct reads with many in flight")
    request_rate: BytesPerSecond = quantity(
        "0 B/s", description="Bytes of larger random reads with many in flight, beyond small ones"
    )

    @model_validator(mode="after")
    def _lines_are_whole(self) -> LocalFiles:
        known = dict(self)
        for key, rates in NEEDED.items():
            missing = [name for name in rates if not known[name]]
            if known[key] and missing:
                raise ValueError(f"{key}: needs {', '.join(missing)} as well, or leave it out")
        return self

    @property
    def whole(self) -> LocalFiles:
        """The values without the keys whose lines are not whole, so that models use the declared
        disk instead."""
        known = dict(self)
        lacking = [key for key, rates in NEEDED.items() if not all(known[one] for one in rates)]
        return self.model_copy(update=dict.fromkeys(lacking, 0.0))

    @property
    def of_calls(self) -> LocalFiles:
        """The values without those of the disk: direct requests and fsync are not measured."""
        return self.model_copy(update=dict.fromkeys(OF_DISKS, 0.0))
