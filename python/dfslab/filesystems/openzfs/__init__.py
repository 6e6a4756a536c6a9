"""Describes OpenZFS: a local pool of disks with records, a cache, parity or mirrors, and an
intent log.
"""
