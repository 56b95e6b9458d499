"""Exact arithmetic on arrays, of which the chapters are made. The caller holds one `np.errstate(all="ignore")`."""
