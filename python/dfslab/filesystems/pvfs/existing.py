"""Declares how mounts of PVFS and OrangeFS are recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("pvfs2",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
