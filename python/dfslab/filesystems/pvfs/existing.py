"""How PVFS and OrangeFS are known where they are mounted."""

from dfslab.spec.mounts import KnownMount

MOUNT_TYPES = ("pvfs2",)


EXISTING = KnownMount(mount_types=MOUNT_TYPES)
