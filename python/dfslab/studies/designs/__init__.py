"""Design of experiments: legal configurations, effects, and the next runs."""
