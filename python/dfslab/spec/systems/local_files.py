"""The measured times of a node's own file system, which `dfslab calibrate` writes to a profile."""

from __future__ import annotations

from collections.abc import Mapping

from dfslab.spec.model import CheckedModel
from dfslab.spec.units import BytesPerSecond, PerSecond, Seconds, quantity

# The keys of `LocalFiles` that describe the disk below the file system.
OF_DISKS = (
    "commit_time",
    "commit_rate",
    "commits",
    "commits_rate",
    "small_read_time",
    "read_time",
    "read_rate",
    "small_write_time",
    "write_time",
    "write_rate",
    "requests",
    "request_rate",
)
# The measured values that a faster disk changes, by the key of the node's disk. `commit_time` is
# not among them: it is the time of the journal, which models calibrate as a separate constant.
OF_DISK_KEYS: Mapping[str, tuple[str, ...]] = {
    "read_rate": ("read_rate", "request_rate"),
    "write_rate": ("write_rate", "commit_rate", "commits_rate"),
    "latency": (
        "small_read_time",
        "small_write_time",
        "read_time",
        "write_time",
        "requests",
        "commits",
    ),
}
# The rates of measured lines. The measured duration of some calls is a linear function (a line) of
# the number of bytes: time + bytes / rate.
#
# A key is a field of `LocalFiles` that is above 0 if the lines of the entry were measured. A value
# maps the field with the rate of each line to "read" or "write". If this rate was not measured, the
# node's disk rate for reading or writing replaces it.
RATES_OF_LINES = {
    "requests": {"read_rate": "read", "write_rate": "write"},
    "commits": {"commit_rate": "write", "commits_rate": "write"},
}


class LocalFiles(CheckedModel):
    """Measured times and rates of files in one directory of a node. Some belong to calls on the
    files, and the others belong to direct I/O and fsync on the disk below the directory. Times are
    in seconds, rates in bytes or calls per second; 0 means "not measured".

    Models use these values for local file systems only. If a rate of direct requests or of fsync
    was not measured, the rate of the node's disk replaces it.
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
    overwrite_call_time: Seconds = quantity(
        "0 s", description="A write over cached pages, bytes aside"
    )
    cached_overwrite_rate: BytesPerSecond = quantity(
        "0 B/s", description="Bytes written over cached pages"
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
    small_read_time: Seconds = quantity(
        "0 s", description="A direct read of 4 KiB of one stream; no larger one takes less"
    )
    read_time: Seconds = quantity("0 s", description="A direct read of one stream, bytes aside")
    read_rate: BytesPerSecond = quantity(
        "0 B/s", description="Its bytes, beyond the time of a read"
    )
    small_write_time: Seconds = quantity(
        "0 s", description="A direct write of 4 KiB of one stream; no larger one takes less"
    )
    write_time: Seconds = quantity("0 s", description="A direct write of one stream, bytes aside")
    write_rate: BytesPerSecond = quantity(
        "0 B/s", description="Its bytes, beyond the time of a write"
    )
    requests: PerSecond = quantity("0 /s", description="Small direct reads with many in flight")
    request_rate: BytesPerSecond = quantity(
        "0 B/s", description="Bytes of larger random reads with many in flight, beyond small ones"
    )

    def completed(self, read_rate: float, write_rate: float) -> LocalFiles:
        """Returns a copy in which all rates of the measured lines (RATES_OF_LINES) are set. A rate
        that was not measured is replaced by `read_rate` or `write_rate`. These are the rates of the
        node's disk in bytes per second."""
        known, of_disk = dict(self), {"read": read_rate, "write": write_rate}
        missing = {
            name: of_disk[mode]
            for key, rates in RATES_OF_LINES.items()
            for name, mode in rates.items()
            if known[key] and not known[name]
        }
        return self.model_copy(update=missing)

    @property
    def of_calls(self) -> LocalFiles:
        """A copy without the values of the disk below the file system, as if direct requests and
        fsync had not been measured."""
        return self.model_copy(update=dict.fromkeys(OF_DISKS, 0.0))
