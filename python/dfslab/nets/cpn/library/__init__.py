"""Predefined functions of CPN ML: functions written in CPN ML, and functions of texts."""
