"""Libraries that `dfslab` imports only in the commands that use them."""

from __future__ import annotations

from dfslab.extras import BROUGHT_BY

# Libraries that take long to import. `dfslab COMMAND --help` loads none of them.
HEAVY = {*BROUGHT_BY, "sympy", "mpmath", "pint", "matplotlib"}
# Libraries for parsing, terminal output and processes, which a command that only prints an overview
# must not import.
PARSING = {"numpy", "pydantic", "typer", "rich", "tomlkit", "psutil"}
# Modules of Python that take more than 10 ms to import.
STANDARD = {"importlib.metadata"}
