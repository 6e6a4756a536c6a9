"""The commands that lead to decisions."""
