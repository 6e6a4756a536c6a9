"""Declares how mounts of local file systems are recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "overlay", "tmpfs")


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
