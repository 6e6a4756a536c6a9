"""How MooseFS is known where it is mounted: by its source, since its type is plain `fuse`."""

MOUNT_TYPES = ("fuse.mfs",)
SOURCES = ("mfs#",)
