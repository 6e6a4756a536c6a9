"""Which tokens of a net of CPN Tools a firing draws at random."""
