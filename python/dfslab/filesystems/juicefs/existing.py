"""Declares how a mount of JuiceFS is recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("fuse.juicefs",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
