"""What an operand of an instruction may be: one row per kind, by the word that the table's rows use for it."""
