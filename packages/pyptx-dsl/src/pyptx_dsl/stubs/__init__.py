"""The typed view of `ptx.inst`: stubs with one class per opcode prefix."""
