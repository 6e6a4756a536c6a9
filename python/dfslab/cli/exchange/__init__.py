"""Commands that import and check results of other tools, and conversions of their options."""
