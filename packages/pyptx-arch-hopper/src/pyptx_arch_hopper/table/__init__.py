"""Hopper's rows of the instruction table, one file per subject."""
