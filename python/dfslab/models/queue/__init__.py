"""Queueing: closed and open networks, locks, bursts, the metadata server."""
