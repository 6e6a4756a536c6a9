"""Real file systems on this machine: daemons, their state on disk, their programs, their ports."""
