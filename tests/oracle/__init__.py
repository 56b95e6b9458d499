"""Law L6: what the instruction table accepts ptxas accepts, and what it refuses ptxas refuses."""
