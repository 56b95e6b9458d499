"""Branches and loops, and checks of the names that their blocks bind."""
