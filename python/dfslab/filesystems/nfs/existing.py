"""How NFS is known where it is mounted."""

MOUNT_TYPES = ("nfs", "nfs4")
