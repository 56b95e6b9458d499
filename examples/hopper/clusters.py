"""Number of clusters that run at a time, from which kernels choose how many CTAs share a tile."""

from __future__ import annotations

AT_ONCE = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 7: 15, 8: 15}
"""Maximum number of resident clusters of each size, if a CTA fills an SM.

These are the values of `cuOccupancyMaxActiveClusters` on an H200. A cluster stays within a GPC. Some GPCs have fewer
usable SMs than others, which differs between chips. Further clusters start as resident ones exit.
"""
