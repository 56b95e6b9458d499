"""Shadow memory: the last accesses to each piece of memory, and which of them a new access conflicts with."""
