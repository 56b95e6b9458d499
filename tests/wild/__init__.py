"""Laws on PTX that others wrote, the corpus and published wheels: syntax, rebuilding, and `pyptx check`."""
