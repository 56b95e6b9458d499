"""What runs next, and who waits."""
