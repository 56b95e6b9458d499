"""Generated texts, numbers and programs for the parser, the checker and the simulator."""
