"""Transpiler rules for Blackwell, one module per rule."""
