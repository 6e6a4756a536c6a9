"""What dfslab uses of statsmodels."""
