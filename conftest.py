"""Settings for all test folders. Of a test with a large product of cases (a grid), pytest runs a
sample of the cases, which a seed selects."""

pytest_plugins = ["verification.sampling"]
