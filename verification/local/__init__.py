"""Judges predictions of local file systems against measurements on emulated disks."""
