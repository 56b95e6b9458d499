"""Array arithmetic for the semantics of instructions: formats, rounding, packed elements, MMA dot products.

All functions are pure and independent of instructions and of the machine. Semantics and steps use them, including those
of plugins. The caller provides one `np.errstate(all="ignore")`.
"""
