"""Type stubs of `ptx.inst`, with one class per opcode prefix."""
