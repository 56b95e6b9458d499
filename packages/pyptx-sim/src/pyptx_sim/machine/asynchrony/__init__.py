"""Asynchronous operations: issue, completion, and waits."""
