"""GlusterFS: no metadata server; the client distributes, replicates and disperses."""
