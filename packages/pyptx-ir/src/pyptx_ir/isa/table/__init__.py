"""The instruction table, one file per chapter of the manual."""
