"""The machine: lanes, registers, memory, splits, barriers. It knows programs, but no instruction's meaning."""
