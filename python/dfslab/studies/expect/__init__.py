"""Compares the rates that a place should deliver with the rates that it delivers. A place is a
directory, a mounted file system or a testbed. The expectation comes from the file system's
description and the hardware."""
