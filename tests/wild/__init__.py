"""Properties of other people's PTX (the corpus and published wheels): syntax, rebuilding, and `pyptx check`."""
