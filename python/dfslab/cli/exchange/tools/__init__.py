"""Converts command lines of elbencho and IOR, and job files and command lines of fio, to
scenarios."""
