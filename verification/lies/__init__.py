"""The museum: documented ways in which storage figures were wrong, and honest runs."""
