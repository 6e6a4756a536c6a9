"""Operation trees compiled into timed coloured Petri nets."""
