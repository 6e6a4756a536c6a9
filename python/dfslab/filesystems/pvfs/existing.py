"""How PVFS and OrangeFS are known where they are mounted."""

MOUNT_TYPES = ("pvfs2",)
