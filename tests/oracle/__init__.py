"""Property L6: the instruction table and ptxas accept the same instructions."""
