"""The instructions of PTX: a module for each group, named as the manual's chapters are."""
