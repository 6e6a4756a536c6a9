"""The experiments of the papers, recomputed from every recording and held to one table of bars."""
