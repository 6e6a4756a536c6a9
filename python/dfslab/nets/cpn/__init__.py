"""Reads nets of CPN Tools, evaluates their inscriptions, and writes nets for CPN Tools."""
