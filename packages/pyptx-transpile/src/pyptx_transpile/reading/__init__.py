"""The module that is read: its items, names, labels and the opcodes of its operators."""
