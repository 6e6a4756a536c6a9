"""Advice from the I/O counters of an application. The advice says what to change in the
application's I/O, and how much time each change would save."""
