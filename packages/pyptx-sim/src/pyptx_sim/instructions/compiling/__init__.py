"""From an instruction and its row to what the machine executes."""
