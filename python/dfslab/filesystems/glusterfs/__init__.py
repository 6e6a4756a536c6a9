"""Describes GlusterFS: there is no metadata server; the client distributes, replicates and
disperses the data.
"""
