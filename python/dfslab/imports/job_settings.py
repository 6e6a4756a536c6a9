"""The settings of another tool's job that distinguish its configurations. Measurements with
different settings are neither repetitions of each other nor compared as one configuration."""

from __future__ import annotations

from dataclasses import dataclass

from dfslab.spec import units
from dfslab.spec.design import LevelValue

TRANSFER_SIZE = "transfer_size"
OFFSETS = {True: "random", False: "sequential"}
ACCESSES = {True: "direct I/O", False: "buffered I/O"}


@dataclass(frozen=True)
class JobSettings:
    """The settings of a job as its tool reports them. None or "" means that the tool did not report
    the setting.

    transfer_bytes: size of one read or write request. file_bytes: size of the files of one client.
    queue_depth: outstanding requests of one client. is_random: whether offsets are random.
    is_direct: whether requests bypass the page cache. options: other options of the tool that
    change the work, as one text.
    """

    transfer_bytes: float | None = None
    file_bytes: float | None = None
    queue_depth: int | None = None
    is_random: bool | None = None
    is_direct: bool | None = None
    options: str = ""

    def labels(self) -> dict[str, LevelValue]:
        """Returns the known settings by their keys in the workload `command`."""
        sizes = {TRANSFER_SIZE: self.transfer_bytes, "file_size": self.file_bytes}
        found: dict[str, LevelValue] = {
            key: units.exact(size, "B") for key, size in sizes.items() if size
        }
        if self.queue_depth:
            found["queue_depth"] = self.queue_depth
        if self.is_random is not None:
            found["offsets"] = OFFSETS[self.is_random]
        if self.is_direct is not None:
            found["access"] = ACCESSES[self.is_direct]
        return found | ({"options": self.options} if self.options else {})
