"""Branches and loops, and checks of the Python variables that their `with` blocks rebind."""
