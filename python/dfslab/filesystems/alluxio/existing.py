"""Declares how a mount of Alluxio is recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("fuse.alluxio-fuse",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
