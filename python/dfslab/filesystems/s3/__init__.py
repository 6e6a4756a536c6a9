"""Describes an object store with the S3 interface: whole objects by name, over HTTP."""
