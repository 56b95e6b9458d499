"""Arithmetic on arrays, of which instructions are made: formats, roundings, packed elements, sums of tensor cores.

All of it is pure, and knows nothing of instructions or of the machine; semantics and steps use it, a plugin's too.
The caller holds one `np.errstate(all="ignore")`.
"""
