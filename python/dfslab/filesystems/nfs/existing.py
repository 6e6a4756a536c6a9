"""Declares how a mount of NFS is recognised."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("nfs", "nfs4")


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
