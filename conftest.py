"""What every test folder shares: large products of cases are run by a seeded share."""

pytest_plugins = ["verification.sampling"]
