"""How BeeGFS is known where it is mounted."""

MOUNT_TYPES = ("beegfs",)
