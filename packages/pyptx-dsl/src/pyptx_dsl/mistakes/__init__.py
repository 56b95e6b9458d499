"""Usage errors of the DSL, reported at the user's line."""
