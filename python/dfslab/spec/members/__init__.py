"""What discovery of members needs: errors with file and line, literals, installed packages."""
