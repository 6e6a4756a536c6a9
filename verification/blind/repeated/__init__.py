"""Predicts the recorded points of earlier blind campaigns again, with the present models."""
