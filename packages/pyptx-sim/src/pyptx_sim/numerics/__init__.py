"""Array arithmetic for the semantics of instructions: formats, rounding, packed elements, MMA dot products.

All functions are pure and independent of instructions and of the machine. The semantics of instructions, also those of
plugins, call these functions. Callers run inside one `np.errstate(all="ignore")`.
"""
