"""An invented file system for tests: a local directory with a ticket server in front of it."""
