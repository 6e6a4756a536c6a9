"""How Alluxio is known where it is mounted."""

MOUNT_TYPES = ("fuse.alluxio-fuse",)
