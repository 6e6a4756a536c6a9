"""Commands that support decisions: predict the gain of changes, give advice, plan deployments,
compare runs."""
