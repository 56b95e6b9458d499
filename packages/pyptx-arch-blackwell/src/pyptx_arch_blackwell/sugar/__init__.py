"""Transpiler rules for Blackwell, one file each."""
