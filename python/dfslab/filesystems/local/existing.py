"""How local file systems are known where they are mounted."""

MOUNT_TYPES = ("ext4", "xfs", "btrfs", "tmpfs")
