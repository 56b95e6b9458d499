"""What the instruction table tells people: entries, wording, search, and the command `pyptx isa`."""
