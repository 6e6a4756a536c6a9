"""Lists of libraries that `dfslab` must import late: only in the commands that use them."""

from __future__ import annotations

from dfslab.extras import BROUGHT_BY

# Libraries that take long to import. `dfslab COMMAND --help` loads none of them.
HEAVY = {*BROUGHT_BY, "sympy", "mpmath", "pint", "matplotlib"}
# Libraries for parsing, terminal output and processes. A command that only prints an overview
# imports none of them.
PARSING = {"numpy", "pydantic", "typer", "rich", "tomlkit", "psutil"}
# Modules of Python's standard library whose import takes more than 10 ms.
STANDARD = {"importlib.metadata"}
