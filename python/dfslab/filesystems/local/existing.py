"""Declares how mounts of local file systems are recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("ext4", "xfs", "btrfs", "tmpfs")


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
