"""Branches and loops, and the names that their blocks bind."""
