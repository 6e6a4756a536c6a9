"""What is drawn and printed: the page, its sections, and pictures of descriptions."""
