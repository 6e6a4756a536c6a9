"""Reads what other tools recorded, such as strace and Darshan, and converts it to operations to
replay."""
