"""Results of other tools, one reader for each format."""
