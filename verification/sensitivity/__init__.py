"""Varies the constants of models and studies, and reports how much the headline figures change."""
