"""Command lines and job files of fio, IOR and elbencho as scenarios."""
