"""Texts that nobody wrote, for the parser and the checker."""
