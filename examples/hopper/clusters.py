"""How many clusters run at a time, which says into how many blocks a tile is best divided."""

from __future__ import annotations

AT_ONCE = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 7: 15, 8: 15}
"""How many clusters of each size there is room for, where a block fills a multiprocessor.

It is what `cuOccupancyMaxActiveClusters` says of an H200. A cluster stays within a GPC, and of these some have fewer
multiprocessors that can be used than others, not the same on each chip. Clusters beyond that run behind the others.
"""
