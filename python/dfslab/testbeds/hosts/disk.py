"""Emulates the disks of hosts.

A disk is an image file on a loop device with rate limits. The kernel detaches the device when it is
no longer mounted.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dfslab.spec.clock import REAL, Clock
from dfslab.testbeds.errors import TestbedError
from dfslab.testbeds.hosts.control_groups import ControlGroups

BLOCK = Path("/sys/block")
FREE_WAIT_S = 60.0
COMMAND_LIMIT_S = 300.0
# For each file system, the command that creates it. The options switch off two actions that a new
# sparse image does not need: discarding all blocks, and early initialisation.
_MAKE = {
    "xfs": ["mkfs.xfs", "-q", "-K"],
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"],
}
# Mount options. Without `noinit_itable`, ext4 would zero its inode tables in the background, which
# would use some of the disk's rate. With `discard`, the deletion of blocks frees the image's
# memory.
OPTIONS = {"xfs": "noatime,nouuid,discard", "ext4": "noatime,noinit_itable,discard"}


# The kernel's disk counters count sectors of this size, whatever the sector size of the device is.
SECTOR_BYTES = 512


@dataclass(frozen=True)
class LoopDevice:
    """A loop device. `node`: its path in /dev; `device`: its number "major:minor"."""

    node: str
    device: str


def make_image(path: Path, file_system: str, size_bytes: int) -> None:
    """Creates a sparse image with an empty file system.

    Raises TestbedError if the image cannot be created.
    """
    with path.open("xb") as image:
        os.truncate(image.fileno(), size_bytes)
    _run([*_MAKE[file_system], str(path)])


def attach(path: Path) -> LoopDevice:
    """Attaches a loop device to an image.

    The device uses direct I/O, which bypasses this machine's page cache.
    """
    node = _run(["losetup", "-f", "--show", "--direct-io=on", str(path)]).strip()
    number = os.stat(node).st_rdev
    return LoopDevice(node, f"{os.major(number)}:{os.minor(number)}")


def detach(disk: LoopDevice) -> None:
    """Makes the kernel detach the device when it is no longer mounted."""
    _run(["losetup", "-d", disk.node])


def read_bytes(device: str) -> int:
    """Returns the number of bytes read from a device ("major:minor") since it was attached.

    Reads that the page cache answers are not included.
    """
    counts = Path(f"/sys/dev/block/{device}/stat").read_text().split()
    return int(counts[2]) * SECTOR_BYTES


def attached(folders: Sequence[Path]) -> list[LoopDevice]:
    """Returns the loop devices whose image is in one of the folders."""
    return [disk for disk, image in _devices() if any(f in image.parents for f in folders)]


def lift_limits(limits: ControlGroups, devices: Sequence[str], folders: Sequence[Path]) -> None:
    """Lifts the rate limits of the recorded `devices`, whose images are in `folders`.

    A device is skipped if its number now belongs to an image that is not in `folders`.
    """
    taken = {d.device for d, image in _devices() if not any(f in image.parents for f in folders)}
    for device in devices:
        if device not in taken:
            limits.lift(device)


def release(folders: Sequence[Path], clock: Clock = REAL) -> None:
    """Detaches all loop devices of images in the folders, and waits until they are free.

    Raises TestbedError if a device stays in use.
    """
    deadline = clock.monotonic_s() + FREE_WAIT_S
    while left := attached(folders):
        for disk in left:
            # Detaching fails if the kernel is already detaching the device. That does no harm.
            subprocess.run(["losetup", "-d", disk.node], capture_output=True, check=False)
        if clock.monotonic_s() > deadline:
            raise TestbedError("state", f"freeing {left[0].node}", "it is still in use")
        clock.sleep(0.05)


def _devices() -> list[tuple[LoopDevice, Path]]:
    found = []
    for entry in BLOCK.glob("loop*"):
        try:
            image = (entry / "loop/backing_file").read_text().strip()
            device = (entry / "dev").read_text().strip()
        except OSError:
            continue
        found.append((LoopDevice(f"/dev/{entry.name}", device), Path(image)))
    return found


def _run(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TestbedError("failed", words[0], str(error)) from error
    if done.returncode:
        raise TestbedError("failed", words[0], done.stderr.strip() or f"status {done.returncode}")
    return done.stdout
