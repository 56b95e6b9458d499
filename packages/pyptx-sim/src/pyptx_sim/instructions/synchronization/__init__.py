"""Instructions that synchronize threads, and asynchronous copies."""
