"""Declares how a mount of BeeGFS is recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("beegfs",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
