"""Declares how a mount of Lustre is recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("lustre",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
