"""The common parts of models that learn from measurements: features, encodings, estimators,
intervals.
"""
