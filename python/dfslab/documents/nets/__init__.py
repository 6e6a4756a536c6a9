"""What simulations of nets measured, for the rooms that read it."""
