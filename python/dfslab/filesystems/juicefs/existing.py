"""How JuiceFS is known where it is mounted."""

MOUNT_TYPES = ("fuse.juicefs",)
