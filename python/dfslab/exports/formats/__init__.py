"""The exporters. Each exporter is one module, and `dfslab.discover` finds the modules."""
