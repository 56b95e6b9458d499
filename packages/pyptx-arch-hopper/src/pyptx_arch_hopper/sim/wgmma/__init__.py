"""Products of warpgroups: `wgmma`, and what orders it and its registers."""
