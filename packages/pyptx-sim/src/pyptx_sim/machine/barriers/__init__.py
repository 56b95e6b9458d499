"""Named barriers of CTAs, and mbarriers."""
