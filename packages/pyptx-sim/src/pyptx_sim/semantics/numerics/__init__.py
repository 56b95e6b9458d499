"""Exact arithmetic on arrays: what the chapters' functions are made of. The caller holds one `np.errstate(all="ignore")`."""
