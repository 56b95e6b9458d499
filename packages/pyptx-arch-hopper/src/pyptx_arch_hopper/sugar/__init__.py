"""How the transpiler says what is of Hopper: rings of barriers, and descriptors of matrices."""
