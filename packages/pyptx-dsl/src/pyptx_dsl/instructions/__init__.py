"""PTX instructions: one Python module per instruction group, named after the manual's chapters."""
