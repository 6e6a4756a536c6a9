"""A package that extends dfslab through entry points. The package has one extension of each kind,
such as a model, an importer and a file system."""
