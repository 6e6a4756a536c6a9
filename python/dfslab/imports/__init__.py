"""Readers of other tools' recordings: strace, Darshan DXT, replayed operations."""
