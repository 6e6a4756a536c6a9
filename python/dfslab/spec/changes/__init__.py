"""Changes of a scenario: the language in which users write them, and their classification by
kind."""
