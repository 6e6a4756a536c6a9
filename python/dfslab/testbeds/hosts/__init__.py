"""Emulates the hosts of testbeds with namespaces, links, disks and limits, and measures their
hardware."""
