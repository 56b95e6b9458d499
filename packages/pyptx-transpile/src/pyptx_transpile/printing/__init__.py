"""The printer of Python: expressions, declarations, bodies, helper functions, files."""
