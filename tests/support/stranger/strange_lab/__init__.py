"""A package that adds one member of each kind to dfslab by entry points."""
