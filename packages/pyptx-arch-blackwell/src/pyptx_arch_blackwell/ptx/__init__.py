"""Blackwell's additions to `ptx`, and types of its instructions for `ptx.inst`."""
