"""PTX instructions: a Python module for each instruction group, named after the manual's chapters."""
