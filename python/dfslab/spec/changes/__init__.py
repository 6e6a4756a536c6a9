"""Changes of a scenario: the language in which people write them, and their kinds."""
