"""Petri nets as people write them: built, read, drawn, played, fired."""
