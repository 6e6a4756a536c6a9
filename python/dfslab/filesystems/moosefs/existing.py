"""Declares how a mount of MooseFS is recognised: by its source, since its type is plain `fuse`."""

from dfslab.spec.systems.mounts import KnownMount

MOUNT_TYPES = ("fuse.mfs",)
SOURCES = ("mfs#",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES, sources=SOURCES)
