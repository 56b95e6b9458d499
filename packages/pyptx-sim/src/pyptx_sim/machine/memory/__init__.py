"""Memory: bytes, what is valid there, and how accesses find their way."""
