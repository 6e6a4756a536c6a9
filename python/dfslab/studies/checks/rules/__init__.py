"""Rules of the lie detector, each a way in which storage figures were wrong."""
