"""Limits a host's processor, memory and disk by control groups of version 1 or 2.

Version 1 attributes the write-back of dirty pages to the kernel and not to the process that wrote
them. With version 1, the disk limits are therefore set in the root group, with one line for each
device. There, the limits apply equally to direct I/O, fsync and write-back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from dfslab.spec.clock import REAL, Clock

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
REMOVE_WAIT_S = 5.0
# The limits of a disk. Each value is a pair: the name of the file that sets the limit in control
# groups of version 1, and the limit's key in the file io.max of version 2.
DISK = {
    "read_bytes_per_s": ("blkio.throttle.read_bps_device", "rbps"),
    "write_bytes_per_s": ("blkio.throttle.write_bps_device", "wbps"),
    "read_per_s": ("blkio.throttle.read_iops_device", "riops"),
    "write_per_s": ("blkio.throttle.write_iops_device", "wiops"),
}


class ControlGroups:
    """The control groups of one testbed.

    Each group is named `dfslab-<testbed id>` and has one child group for each host.
    """

    def __init__(self, testbed_id: str, root: Path = ROOT) -> None:
        self.unified = (root / "cgroup.controllers").exists()
        self._root, self.name = root, f"dfslab-{testbed_id}"

    def make(self, host: str, cores: float | None, memory_bytes: int | None) -> tuple[Path, ...]:
        """Creates the control groups of a host, with their limits. Returns their folders; the
        host's processes join these groups.

        In version 1, disk limits are set in the root group and apply only to processes in this
        group. The folder of the root group is then returned as well.
        """
        folders = [*self._folders(host, cores, memory_bytes)]
        disks = self._root / "blkio"
        return (*folders, disks) if not self.unified and disks.is_dir() else tuple(folders)

    def of(self, host: str) -> tuple[Path, ...]:
        """Returns the existing folders of the control groups that processes of a host join. These
        are the folders that `make` has returned."""
        folders = [found for place in self.folders() if (found := place / host).is_dir()]
        disks = self._root / "blkio"
        return (*folders, disks) if not self.unified and disks.is_dir() else tuple(folders)

    def processor(self, host: str, cores: float) -> None:
        """Changes the processor limit (in cores) of a host that was created with such a limit."""
        folder = (self._root if self.unified else self._root / "cpu") / self.name / host
        quota = round(cores * PERIOD_US)
        if self.unified:
            (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}\n")
        elif folder.is_dir():
            (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")

    def disk(self, host: str, device: str, limits: Mapping[str, float]) -> None:
        """Sets the limits of a block device ("major:minor").

        Limits that are not in `limits` are removed.
        """
        if self.unified:
            words = [
                f"{key}={round(limits[name]) if limits.get(name) else 'max'}"
                for name, (_, key) in DISK.items()
            ]
            line = f"{device} {' '.join(words)}\n"
            (self._root / self.name / host / "io.max").write_text(line)
            return
        for name, (file, _) in DISK.items():
            value = round(limits.get(name) or 0)
            (self._root / "blkio" / file).write_text(f"{device} {value}\n")

    def lift(self, device: str) -> None:
        """Removes all limits of a block device.

        In version 2 this does nothing, because the limits end with their group.
        """
        if not self.unified:
            with suppress(OSError):
                self.disk("", device, {})

    def remove(self) -> None:
        """Removes the control groups. Their processes must have ended.

        The kernel may show the end of a process with a delay, so the removal is retried.
        """
        for folder in self.folders():
            for path in [*sorted(folder.glob("*/")), folder]:
                _remove_group(path)

    def folders(self) -> list[Path]:
        """Returns the existing control groups of the testbed."""
        places = [self._root] if self.unified else [self._root / "cpu", self._root / "memory"]
        return [place / self.name for place in places if (place / self.name).is_dir()]

    def _folders(self, host: str, cores: float | None, memory_bytes: int | None) -> Iterable[Path]:
        """Creates the control groups of a host with their limits, and yields their folders one
        after the other."""
        if self.unified:
            own = self._root / self.name
            own.mkdir(exist_ok=True)
            for place in (self._root, own):
                (place / "cgroup.subtree_control").write_text("+cpu +memory +io\n")
            (own / host).mkdir()
            quota = "max" if cores is None else round(cores * PERIOD_US)
            (own / host / "cpu.max").write_text(f"{quota} {PERIOD_US}\n")
            (own / host / "memory.max").write_text(f"{memory_bytes or 'max'}\n")
            yield own / host
            return
        if cores is not None:
            folder = self._root / "cpu" / self.name / host
            folder.mkdir(parents=True)
            (folder / "cpu.cfs_period_us").write_text(f"{PERIOD_US}\n")
            (folder / "cpu.cfs_quota_us").write_text(f"{round(cores * PERIOD_US)}\n")
            yield folder
        if memory_bytes is not None:
            folder = self._root / "memory" / self.name / host
            folder.mkdir(parents=True)
            (folder / "memory.limit_in_bytes").write_text(f"{memory_bytes}\n")
            yield folder


def _remove_group(path: Path, clock: Clock = REAL) -> None:
    deadline = clock.monotonic_s() + REMOVE_WAIT_S
    while True:
        try:
            path.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if clock.monotonic_s() > deadline:
                raise
            clock.sleep(0.05)


def everybody(root: Path = ROOT) -> list[Path]:
    """Returns the folders of the control groups of all testbeds on this machine."""
    return sorted({*root.glob("dfslab-*"), *root.glob("*/dfslab-*")})
