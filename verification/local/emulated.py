"""Creates an emulated disk with a file system. The disk is an image on a loop device with rate
limits. The file system is mounted in a new directory. Everything is removed at the end. Needs
root."""

from __future__ import annotations

import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dfslab.testbeds.hosts import disk
from dfslab.testbeds.hosts.control_groups import ControlGroups

IMAGE_BYTES = 6 << 30


@dataclass(frozen=True)
class EmulatedDisk:
    """An emulated disk: its file system (ext4 or xfs), its limits in bytes per second and in
    requests per second, and the directory of its image. The directory is in memory or on a real
    disk."""

    file_system: str
    read_rate: float
    write_rate: float
    requests_per_s: float
    medium: Path

    @property
    def limits(self) -> dict[str, float]:
        """The limits, as a dictionary with the names that control groups use for them."""
        return {
            "read_bytes_per_s": self.read_rate,
            "write_bytes_per_s": self.write_rate,
            "read_per_s": self.requests_per_s,
            "write_per_s": self.requests_per_s,
        }


@contextmanager
def mounted(made: EmulatedDisk) -> Iterator[Path]:
    """Mounts the disk, and yields the directory of its file system."""
    groups = ControlGroups(f"local-{uuid.uuid4().hex[:8]}")
    if groups.unified:
        raise SystemExit("the limits of the disk need control groups of version 1")
    with tempfile.TemporaryDirectory(prefix="dfslab-local-", dir=made.medium) as folder:
        image, point = Path(folder) / "image", Path(folder) / "mnt"
        disk.make_image(image, made.file_system, IMAGE_BYTES)
        point.mkdir()
        device = disk.attach(image)
        try:
            subprocess.run(
                ["mount", "-o", disk.OPTIONS[made.file_system], device.node, str(point)], check=True
            )
            groups.disk("", device.device, made.limits)
            yield point
        finally:
            groups.lift(device.device)
            subprocess.run(["umount", str(point)], check=False)
            disk.release([Path(folder)])
