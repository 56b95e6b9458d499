"""Layouts of matrices in tensor memory, of tcgen05.ld, st, cp and shift: plain data for the simulator and the DSL."""
