"""SymPy's printers."""
