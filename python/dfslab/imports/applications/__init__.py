"""Reads logs with I/O counters of applications, such as Darshan's, for advice on the
application's I/O."""
