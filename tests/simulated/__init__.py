"""What the instruction table knows of a target, held against the simulator."""
