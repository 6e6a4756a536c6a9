"""Results and traces in other programs' formats."""
