"""How BeeGFS is known where it is mounted."""

from dfslab.spec.mounts import KnownMount

MOUNT_TYPES = ("beegfs",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
