"""Control flow instructions."""
