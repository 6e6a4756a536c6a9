"""What is known of each file system: one folder each."""
