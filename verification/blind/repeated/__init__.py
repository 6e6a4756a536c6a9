"""Predicts the recorded points of the blind campaigns again, with the present models."""
