"""Verification: the printed file runs, and each part must emit its slice of the source."""
