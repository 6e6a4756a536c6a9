"""What dfslab uses of scikit-learn."""
