"""How Lustre is known where it is mounted."""

from dfslab.spec.mounts import KnownMount

MOUNT_TYPES = ("lustre",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
