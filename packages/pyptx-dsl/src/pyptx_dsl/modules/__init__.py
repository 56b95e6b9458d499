"""Whole modules of PTX, statement by statement: several entries, device functions, variables, debugging sections."""
