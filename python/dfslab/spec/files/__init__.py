"""Files of users: read from any source, written as a whole and never over something else."""
