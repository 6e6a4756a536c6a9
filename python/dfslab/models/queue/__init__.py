"""Queueing models: closed and open networks, locks, request peaks, and the metadata server."""
