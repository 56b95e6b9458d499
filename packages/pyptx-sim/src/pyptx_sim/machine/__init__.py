"""The machine: lanes, registers, memory, strands, barriers. It knows programs, but no instruction's meaning."""
