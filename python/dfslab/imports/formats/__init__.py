"""The importers. Each importer is one module, and `dfslab.discover` finds the modules."""
