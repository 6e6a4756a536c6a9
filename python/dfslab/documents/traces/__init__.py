"""Documents of traces: call trees, paths of calls, what studies compute from them."""
