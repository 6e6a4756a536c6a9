"""SymPy's printer of plain text; a subclass overrides `_print_CLASS`."""

from collections.abc import Mapping

from sympy import Basic

class StrPrinter:
    def __init__(self, settings: Mapping[str, object] | None = None) -> None: ...
    def _print(self, expr: Basic) -> str: ...
    def doprint(self, expr: Basic) -> str: ...
