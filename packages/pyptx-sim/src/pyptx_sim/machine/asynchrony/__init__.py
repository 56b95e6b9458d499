"""Asynchronous work: who has issued it, when it completes, and who waits for it."""
