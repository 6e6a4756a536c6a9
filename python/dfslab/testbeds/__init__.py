"""Testbeds are real file systems that dfslab starts on this machine.

This package manages their daemons, state on disk, programs and ports.
"""
