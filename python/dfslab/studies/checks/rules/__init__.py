"""The plausibility rules. Each module covers one way in which storage figures can be wrong."""
