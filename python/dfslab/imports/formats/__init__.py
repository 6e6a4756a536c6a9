"""The importers. Each is one module, and `dfslab.discover` finds them."""
