"""Settings for all test folders. If a test has a large product of cases (a grid), pytest runs only
a sample of them. A seed selects the sample."""

pytest_plugins = ["verification.sampling"]
