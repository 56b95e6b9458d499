"""Instructions by which threads meet, wait, and copy asynchronously."""
