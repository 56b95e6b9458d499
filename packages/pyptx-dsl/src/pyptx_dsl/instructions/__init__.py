"""PTX instructions: one module per group, named after the manual's chapters."""
