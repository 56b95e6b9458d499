"""Asynchronous work: who has issued it, when it lands, and who waits for it."""
