"""Instruments that run on the real file system: measuring, tracing, calibrating."""
