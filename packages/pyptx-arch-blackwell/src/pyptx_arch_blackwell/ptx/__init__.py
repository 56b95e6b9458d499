"""Blackwell's functions in `ptx`, and the types of its instructions for `ptx.inst`."""
