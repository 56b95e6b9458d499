"""Tests of the prose of the repository."""
