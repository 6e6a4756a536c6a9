"""Describes zFS, the distributed file system over object disks of Rodeh and Teperman (2003)."""
