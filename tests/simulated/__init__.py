"""Forms of the instruction table, compiled and run on the simulator."""
