"""The instruction namespace: one function per instruction."""
