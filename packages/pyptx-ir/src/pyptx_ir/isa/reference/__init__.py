"""Reference of the instruction table: entries, wording, search, and the command `pyptx isa`."""
