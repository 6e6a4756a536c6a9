"""Tools of estimators."""
