"""The papers' experiments, recomputed from every recording and compared with a table of bars."""
