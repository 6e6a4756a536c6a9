"""The results of a run on disk: append-only records with an index, and files of earlier formats."""
