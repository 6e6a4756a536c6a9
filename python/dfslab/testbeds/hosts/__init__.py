"""The emulated hosts of testbeds: namespaces, links, disks, limits, and their hardware."""
