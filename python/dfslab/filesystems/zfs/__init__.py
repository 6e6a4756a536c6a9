"""Describes zFS, the distributed file system of Rodeh and Teperman (2003), which stores data on
object disks."""
