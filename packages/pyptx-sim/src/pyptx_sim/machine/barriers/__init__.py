"""Barriers of blocks and clusters, and mbarriers."""
