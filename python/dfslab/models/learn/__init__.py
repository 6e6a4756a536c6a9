"""What the learnt models share: features, encodings, estimators, intervals."""
