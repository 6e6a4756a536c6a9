"""How Lustre is known where it is mounted."""

MOUNT_TYPES = ("lustre",)
